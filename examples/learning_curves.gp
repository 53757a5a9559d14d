# Draws the evaluations of runs, one curve each, to OUT.svg and OUT.png:
#
#   gnuplot -e "out='curves'; title='MinAtar Breakout'; runs='runs/a runs/b'; names='dueling-dqn stable-aa'" \
#           examples/learning_curves.gp
#
# The band is the mean plus and minus the standard deviation over the games of an evaluation.
if (!exists("title")) title = "Evaluation"
set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile missing NaN

set linetype 1 linecolor rgb "#E69F00" linewidth 2.4
set linetype 2 linecolor rgb "#0072B2" linewidth 2.4
set linetype 3 linecolor rgb "#009E73" linewidth 2.4
set linetype 4 linecolor rgb "#CC79A7" linewidth 2.4
set linetype 5 linecolor rgb "#000000" linewidth 2.4
set style fill transparent solid 0.15 noborder
set grid linecolor rgb "#c8c8c8" linewidth 0.6 dashtype solid
set border 3
set tics nomirror out
set key top left reverse Left samplen 2
set title title
set xlabel "steps"
set ylabel "return of a game"
set format x "%.0s%c"

# Rows without an evaluation are skipped and leave no gaps in the curves.
file(i) = word(runs, i) . "/metrics.csv"
do for [format in "svg png"] {
  if (format eq "svg") {
    set terminal svg size 720, 420 dynamic enhanced font "DejaVu Sans,13" background rgb "white"
  } else {
    set terminal pngcairo size 1080, 630 enhanced font "DejaVu Sans,15"
  }
  set output out . "." . format
  plot for [i = 1:words(runs)] file(i) \
         using "step":(column("eval_return_mean") - column("eval_return_std")):(column("eval_return_mean") + column("eval_return_std")) \
         with filledcurves linetype i notitle, \
       for [i = 1:words(runs)] file(i) using "step":"eval_return_mean" \
         with linespoints linetype i pointtype 7 pointsize 0.4 title word(names, i)
  unset output
}
