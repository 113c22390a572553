// What the cuts cost: each call of a suite by the provider with pools of one and
// two threads, against one whole call of oneDNN on one thread and on its own two.
// All four alternate in bursts; the best of the rounds is printed in GFLOP/s, of processor
// time for one thread and of wall time for two.
//
//   sinter_cpu_bench mnist|resnet|matmul [batch] [seconds a call]
#include "../single_threaded.h"
#include "sinter/core/memory.h"
#include "sinter/cpu/vendor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dnnl.hpp>
#include <functional>
#include <string>

using namespace sinter;
using namespace sinter::rt;
using dnnl::memory;

namespace {

double seconds = 1;

double processorTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const dnnl::engine &engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

/// One whole call of the library with its own threads.
struct Whole {
  template <class Description>
  Whole(const Description &chosen, const std::vector<std::pair<int, memory::desc>> &layouts)
      : primitive(chosen), stream(engine()), name(chosen.impl_info_str()) {
    for (auto [argument, layout] : layouts) {
      memory area(layout, engine());
      std::memset(area.get_data_handle(), 0, layout.get_size());
      arguments.emplace(argument, area);
    }
  }
  void run() { primitive.execute(stream, arguments); }

  dnnl::primitive primitive;
  dnnl::stream stream;
  std::unordered_map<int, memory> arguments;
  std::string name;
};

struct Ours {
  Ours(const LibraryCall &call, const std::vector<std::vector<int64_t>> &shapes) {
    std::vector<LibraryOperand> operands;
    for (const auto &dims : shapes) {
      operands.push_back({DType::F32, dims, nullptr});
      int64_t bytes = 4;
      for (int64_t dim : dims)
        bytes *= dim;
      data.push_back(*Memory::allocate(bytes));
      std::memset(data.back().data(), 0, bytes);
      buffers.push_back(data.back().data());
    }
    primitive = *vendorLibrary()->prepare(call, operands);
    scratch = *Memory::allocate(primitive->scratchBytes());
  }
  void run(ThreadPool &pool) {
    if (Status status = primitive->run(buffers.data(), scratch.data(), pool); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      std::exit(1);
    }
  }

  std::unique_ptr<LibraryPrimitive> primitive;
  std::vector<Memory> data;
  std::vector<void *> buffers;
  Memory scratch;
};

std::array<double, 4> totals; ///< seconds of a suite

void compare(const std::string &name, double flops, Ours &ours,
             const std::function<Whole()> &makeWhole) {
  static ThreadPool one(1), two(2);
  omp_set_num_threads(1);
  Whole wholeOne = makeWhole();
  omp_set_num_threads(2);
  Whole wholeTwo = makeWhole();
  const std::function<void()> contenders[] = {
      [&] { omp_set_num_threads(1), wholeOne.run(); }, [&] { ours.run(one); },
      [&] { omp_set_num_threads(2), wholeTwo.run(); }, [&] { ours.run(two); }};
  // Bursts, as in a training step: the threads of neither side start asleep.
  constexpr double flopsPerBurst = 4e8;
  int burst = std::max(1, int(flopsPerBurst / flops));
  std::array<double, 4> best{1e9, 1e9, 1e9, 1e9};
  double start = now();
  for (int round = 0; round < 5 || now() - start < seconds; ++round)
    for (size_t i = 0; i < 4; ++i) {
      contenders[i]();
      auto clock = i < 2 ? processorTime : now;
      double begin = clock();
      for (int call = 0; call < burst; ++call)
        contenders[i]();
      best[i] = std::min(best[i], (clock() - begin) / burst);
    }
  for (size_t i = 0; i < 4; ++i)
    totals[i] += best[i];
  const auto &info = static_cast<const VendorPrimitive &>(*ours.primitive);
  std::printf("%-34s %8.1f %8.1f %8.1f %8.1f   %5.2f %5.2f  %2d tasks %6.1f MiB  %s\n",
              name.c_str(), flops / best[0] / 1e9, flops / best[1] / 1e9, flops / best[2] / 1e9,
              flops / best[3] / 1e9, best[0] / best[1], best[2] / best[3], int(info.parallelism()),
              double(ours.primitive->scratchBytes()) / (1 << 20),
              info.implementationName().c_str());
  std::fflush(stdout);
}

void convolution(int64_t batch, int64_t in, int64_t out, int64_t size, int64_t kernel,
                 int64_t stride) {
  int64_t pad = kernel / 2, outSize = (size + 2 * pad - kernel) / stride + 1;
  double flops = 2.0 * double(batch * in * out) * double(outSize * outSize * kernel * kernel);
  std::vector<int64_t> x{batch, size, size, in}, w{out, in, kernel, kernel},
      y{batch, outSize, outSize, out};
  using enum LibraryOp;
  auto tag = memory::format_tag::nhwc;
  auto f32 = memory::data_type::f32;
  memory::desc xl({batch, in, size, size}, f32, tag), yl({batch, out, outSize, outSize}, f32, tag),
      wl(w, f32, memory::format_tag::any);
  memory::dims strides{stride, stride}, padding{pad, pad};
  auto direct = dnnl::algorithm::convolution_direct;
  auto forward = [&] {
    return dnnl::convolution_forward::primitive_desc(
        {dnnl::prop_kind::forward_training, direct, xl, wl, yl, strides, padding, padding},
        engine());
  };
  std::string name = std::to_string(in) + "->" + std::to_string(out) + " " + std::to_string(size) +
                     "^2 k" + std::to_string(kernel) + " s" + std::to_string(stride);
  LibraryCall call{Conv2d, {stride, stride, pad, pad, pad, pad, 1, 1, 1, 1}, {}};
  Ours oursForward(call, {x, w, y});
  compare(name + " forward", flops, oursForward, [&] {
    auto chosen = forward();
    return Whole(
        chosen,
        {{DNNL_ARG_SRC, xl}, {DNNL_ARG_WEIGHTS, chosen.weights_desc()}, {DNNL_ARG_DST, yl}});
  });
  call.op = Conv2dInputGrad;
  Ours oursInput(call, {y, w, x});
  compare(name + " input grad", flops, oursInput, [&] {
    dnnl::convolution_backward_data::primitive_desc chosen(
        {direct, xl, wl, yl, strides, padding, padding}, engine(), forward());
    return Whole(chosen, {{DNNL_ARG_DIFF_DST, yl},
                          {DNNL_ARG_WEIGHTS, chosen.weights_desc()},
                          {DNNL_ARG_DIFF_SRC, xl}});
  });
  call.op = Conv2dWeightGrad;
  Ours oursWeight(call, {x, y, w});
  compare(name + " weight grad", flops, oursWeight, [&] {
    dnnl::convolution_backward_weights::primitive_desc chosen(
        {direct, xl, wl, yl, strides, padding, padding}, engine(), forward());
    return Whole(chosen, {{DNNL_ARG_SRC, xl},
                          {DNNL_ARG_DIFF_DST, yl},
                          {DNNL_ARG_DIFF_WEIGHTS, chosen.diff_weights_desc()}});
  });
}

void matmul(int64_t rows, int64_t columns, int64_t depth, bool transposeA, bool transposeB) {
  std::vector<int64_t> a{rows, depth}, b{depth, columns};
  if (transposeA)
    std::swap(a[0], a[1]);
  if (transposeB)
    std::swap(b[0], b[1]);
  Ours ours({LibraryOp::Matmul, {transposeA, transposeB, 0}, {}}, {a, b, {rows, columns}});
  using Tag = memory::format_tag;
  auto f32 = memory::data_type::f32;
  memory::desc al({rows, depth}, f32, transposeA ? Tag::ba : Tag::ab),
      bl({depth, columns}, f32, transposeB ? Tag::ba : Tag::ab), cl({rows, columns}, f32, Tag::ab);
  std::string name = std::to_string(rows) + "x" + std::to_string(columns) + "x" +
                     std::to_string(depth) + (transposeA ? " ta" : "") + (transposeB ? " tb" : "");
  compare(name, 2.0 * double(rows) * double(columns) * double(depth), ours, [&] {
    dnnl::matmul::primitive_desc chosen({al, bl, cl}, engine());
    return Whole(chosen, {{DNNL_ARG_SRC, al}, {DNNL_ARG_WEIGHTS, bl}, {DNNL_ARG_DST, cl}});
  });
}

void linear(int64_t batch, int64_t in, int64_t out) {
  matmul(batch, out, in, false, true);
  matmul(batch, in, out, false, false);
  matmul(out, in, batch, true, false);
}

void resnet(int64_t batch) {
  convolution(batch, 3, 64, 224, 7, 2);
  int64_t in = 64, size = 56;
  for (int64_t width : {64, 128, 256, 512}) {
    int64_t stride = width == 64 ? 1 : 2;
    convolution(batch, in, width, size, 1, 1);
    convolution(batch, width, width, size, 3, stride);
    convolution(batch, in, 4 * width, size, 1, stride);
    size /= stride;
    in = 4 * width;
    convolution(batch, width, in, size, 1, 1);
    convolution(batch, in, width, size, 1, 1);
    convolution(batch, width, width, size, 3, 1);
  }
}

} // namespace

int main(int argc, char **argv) {
  std::string suite = argc > 1 ? argv[1] : "mnist";
  int64_t batch = argc > 2 ? std::stoll(argv[2]) : 64;
  if (argc > 3)
    seconds = std::stod(argv[3]);
  std::printf("%-34s %8s %8s %8s %8s   ratio of times, whole / cut\n", "GFLOP/s", "whole 1",
              "cut 1", "whole 2", "cut 2");
  if (suite == "mnist") {
    convolution(batch, 1, 32, 28, 3, 1);
    convolution(batch, 32, 64, 14, 3, 1);
    linear(batch, 3136, 10);
    linear(batch, 784, 256);
    linear(batch, 256, 128);
    linear(batch, 128, 10);
  } else if (suite == "resnet") {
    resnet(batch);
  } else if (suite == "matmul") {
    for (int64_t size : {64, 256, 1024})
      linear(batch, size, size);
    linear(1024, 1024, 1024);
    linear(batch, 768, 3072);
  } else {
    std::fprintf(stderr, "unknown suite %s: mnist, resnet or matmul\n", suite.c_str());
    return 1;
  }
  std::printf("ratio one_thread %.3f\nratio two_threads %.3f\n", totals[0] / totals[1],
              totals[2] / totals[3]);
}
