# Draws DIR/convergence.csv, written by fixed_points, to DIR/convergence.svg and .png:
#
#   gnuplot -e "dir='build/demo'" examples/convergence.gp
#
# Both axes are logarithmic: the methods differ by factors of up to a hundred in evaluations.
# The penalties differ too: η = .1 is the value of the deep experiments, not tuned for these
# problems.
if (!exists("dir")) dir = "."
data = dir . "/convergence.csv"

problems = "garnet chain bratu mixture"
array titles[4] = ["Value iteration: Garnet, discount 0.99", \
                   "Soft value iteration: chain, discount 0.995", \
                   "Bratu equation: Jacobi sweeps", \
                   "EM: two overlapping Gaussians"]

set encoding utf8
set datafile separator comma
set datafile columnheaders

# The last method in the file is ours: `relative`, or `custom` after --set.
stats data using (ours = strcol(2), 1) nooutput
methods = "plain raa stable " . ours . " vanilla"
ours_label = ours eq "relative" ? "relative (η = 10^{-10})" : ours
labels = "plain 'raa (η = .1)' 'stable (η = .1)' '" . ours_label . "' vanilla"

# Okabe and Ito's colours, with distinct dashes too. `vanilla` often coincides exactly with ours, so
# ours is wide and drawn below it.
set linetype 1 linecolor rgb "#000000" linewidth 1.3 dashtype solid
set linetype 2 linecolor rgb "#CC79A7" linewidth 1.6 dashtype (9, 3, 2, 3)
set linetype 3 linecolor rgb "#009E73" linewidth 2.2 dashtype (6, 4)
set linetype 4 linecolor rgb "#E69F00" linewidth 4.5 dashtype solid
set linetype 5 linecolor rgb "#0072B2" linewidth 1.8 dashtype (3, 3)

set logscale xy
set xrange [2:5e4]
set yrange [5e-9:3]
set format "10^{%T}"
set grid linecolor rgb "#c8c8c8" linewidth 0.6 dashtype solid

residual(problem, method) = strcol(1) eq problem && strcol(2) eq method ? column(4) : NaN

do for [kind in "svg png"] {
  if (kind eq "svg") {
    set terminal svg size 900, 700 font "Arial,14" background rgb "white"
  } else {
    # Twice the size, for sharp print.
    set terminal pngcairo size 1800, 1400 font "DejaVu Sans,11" fontscale 1.8 linewidth 2 \
      background rgb "white"
  }
  set output dir . "/convergence." . kind
  set multiplot
  set border 3 linecolor rgb "#444444"
  set tics scale 0.6, 0.3
  set xtics nomirror
  set ytics nomirror 1e2
  unset mytics
  unset key
  do for [i = 1:4] {
    first_column = i % 2
    last_row = i > 2
    set lmargin at screen (first_column ? 0.09 : 0.58)
    set rmargin at screen (first_column ? 0.50 : 0.99)
    set tmargin at screen (last_row ? 0.50 : 0.95)
    set bmargin at screen (last_row ? 0.16 : 0.61)
    set title titles[i] offset 0, -0.5
    set ylabel (first_column ? "largest residual" : "") offset 1, 0
    set xlabel (last_row ? "evaluations of the map" : "") offset 0, 0.3
    plot for [k = 1:5] data using 3:(residual(word(problems, i), word(methods, k))) \
      with lines linetype k notitle
  }
  # One legend for all, from an empty plot over the whole width.
  set margins at screen 0, at screen 1, at screen 0, at screen 0.06
  set key at screen 0.5, 0.035 center center horizontal Left reverse samplen 2.5 \
    width (kind eq "svg" ? -7 : -1)
  unset title; unset xlabel; unset ylabel; unset tics; unset border
  plot for [k = 1:5] NaN with lines linetype k title word(labels, k)
  unset multiplot
  set output
}
