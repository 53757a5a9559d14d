#ifndef STABLEAA_NN_SQUASHED_GAUSSIAN_H_
#define STABLEAA_NN_SQUASHED_GAUSSIAN_H_
#include <cmath>
#include <cstddef>
#include <span>
namespace stableaa {
inline void SampleSquashedGaussian(std::size_t d, std::span<const float> o, std::span<const float> noise, std::span<float> a, std::span<double> lp) {
  for (std::size_t j = 0; j < lp.size(); ++j) { double s = 0;
    for (std::size_t k = 0; k < d; ++k) {
      double m = o[j*2*d+k], l = std::fmin(2.0, std::fmax(-20.0, (double)o[j*2*d+d+k])), e = noise[j*d+k], u = m + std::exp(l)*e;
      a[j*d+k] = (float)std::tanh(u);
      s += -0.5*e*e - l - 0.91893853320467267 - 2*(0.69314718055994531 - u - (u>-30?std::log1p(std::exp(-2*u)):-2*u));
    } lp[j] = s; }
}
inline void SquashedGaussianGradient(std::size_t d, std::span<const float> o, std::span<const float> noise, std::span<const float> a, std::span<const float> ga, std::span<const double> gl, std::span<float> g) {
  for (std::size_t j = 0; j < gl.size(); ++j)
    for (std::size_t k = 0; k < d; ++k) {
      double l = o[j*2*d+d+k]; bool cl = l < -20 || l > 2; l = std::fmin(2.0, std::fmax(-20.0, l));
      double t = a[j*d+k], du = ga[j*d+k]*(1-t*t) + gl[j]*2*t;
      g[j*2*d+k] = (float)du; g[j*2*d+d+k] = cl ? 0.0F : (float)(du*std::exp(l)*noise[j*d+k] - gl[j]);
    }
}
}
#endif
