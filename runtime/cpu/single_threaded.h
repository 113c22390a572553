// While one lives, oneDNN (built on OpenMP) uses the calling thread alone; the
// thread's own OpenMP setting is as before afterwards.
#pragma once

// All of OpenMP that is used, declared here since not every compiler has omp.h.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace sinter::rt::onednn {

class SingleThreaded {
public:
  SingleThreaded() : before(omp_get_max_threads()) {
    if (before != 1)
      omp_set_num_threads(1);
  }
  ~SingleThreaded() {
    if (before != 1)
      omp_set_num_threads(before);
  }
  SingleThreaded(const SingleThreaded &) = delete;
  SingleThreaded &operator=(const SingleThreaded &) = delete;

private:
  int before;
};

} // namespace sinter::rt::onednn
