# Draws docs/results.csv (evaluations: env, preset, seed, step, return_mean, return_std) to docs/images/results.svg:
#   gnuplot docs/results.gp
set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile missing NaN
data = "docs/results.csv"
set terminal svg size 1080, 340 dynamic enhanced font "DejaVu Sans,12" background rgb "white"
set output "docs/images/results.svg"
set grid linecolor rgb "#c8c8c8" linewidth 0.6 dashtype solid
set border 3
set tics nomirror out
set format x "%.0s%c"
set xlabel "steps"
set ylabel "return of a game"
set xtics 50000
set key top left reverse Left samplen 2
set multiplot layout 1, 3

pick(env, preset, seed) = \
  strcol("env") eq env && strcol("preset") eq preset && column("seed") == seed ? column("return_mean") : NaN

do for [env in "minatar/breakout minatar/space_invaders"] {
  set title env noenhanced
  plot for [seed = 1:3] data using "step":(pick(env, "dueling-dqn", seed)) with lines \
         linecolor rgb "#E69F00" linewidth 1.6 title (seed == 1 ? "dueling-dqn, each seed" : ""), \
       for [seed = 1:3] data using "step":(pick(env, "stable-aa", seed)) with lines \
         linecolor rgb "#0072B2" linewidth 1.6 title (seed == 1 ? "stable-aa, each seed" : "")
}
set xtics 25000
set title "atari/pong" noenhanced
plot data using "step":(pick("atari/pong", "dqn", 1)) with linespoints pointtype 7 pointsize 0.4 \
  linecolor rgb "#009E73" linewidth 1.6 title "dqn, configs/atari/quick.toml"
unset multiplot
