#include "block_runner.h"

#include "monitor.h"
#include "services.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cstring>

namespace sinter::rt::emu {

/// Shared memory begins with this in every byte: NaN as a float.
static constexpr int kPoison = 0xff;
static constexpr size_t kSmallestStack = 32 << 10;

void BlockRunner::List::append(Thread &thread) {
  thread.next = nullptr;
  (last ? last->next : first) = &thread;
  last = &thread;
}

Thread *BlockRunner::List::takeFirst() {
  Thread *thread = first;
  if (thread) {
    first = thread->next;
    if (!first)
      last = nullptr;
  }
  return thread;
}

void BlockRunner::List::prepend(List list) {
  if (!list.first)
    return;
  list.last->next = first;
  first = list.first;
  if (!last)
    last = list.last;
}

bool BlockRunner::begin(Launch &next, Monitor *watcher) {
  launch = &next;
  monitor = watcher;
  for (int axis = 0; axis < 3; ++axis) {
    block.ntid[axis] = next.shape.block[axis];
    block.nctaid[axis] = next.shape.grid[axis];
  }
  block.dynamic_shared = next.shape.dynamicSharedBytes;
  block.global_delta = next.delta;
  block.params = next.params;
  counts.assign(next.kernel.basic_block_count, 0);
  block.block_counts = counts.data();
  block.services = &services;
  block.runner = this;
  if (sharedStorage.size() < next.sharedBytes() + 16)
    sharedStorage.resize(next.sharedBytes() + 16);
  block.shared = sharedStorage.data();
  if (!next.kernel.communicates)
    return true;
  if (threads.size() < next.threads())
    threads.resize(next.threads());
  if (warps.size() < (next.threads() + 31) / 32)
    warps.resize((next.threads() + 31) / 32);
  return stacks.provide(next.threads(), kSmallestStack + 2 * size_t(next.kernel.local_bytes));
}

void BlockRunner::run(uint64_t index) {
  if (index > launch->stuckBlock.load(std::memory_order_relaxed))
    return;
  const auto &grid = launch->shape.grid;
  block.ctaid[0] = uint32_t(index % grid[0]);
  block.ctaid[1] = uint32_t(index / grid[0] % grid[1]);
  block.ctaid[2] = uint32_t(index / grid[0] / grid[1]);
  std::memset(block.shared, kPoison, launch->sharedBytes());
  if (monitor)
    monitor->blockBegins(__builtin_frame_address(0));
  if (launch->kernel.communicates)
    runFibers();
  else
    runLoop();
  if (monitor)
    monitor->blockEnds();
}

void BlockRunner::runLoop() {
  const auto &extent = launch->shape.block;
  auto *run = launch->kernel.run;
  sinter_emu_thread thread{&block, {0, 0, 0}, 0};
  for (thread.tid[2] = 0; thread.tid[2] < extent[2]; ++thread.tid[2])
    for (thread.tid[1] = 0; thread.tid[1] < extent[1]; ++thread.tid[1])
      for (thread.tid[0] = 0; thread.tid[0] < extent[0]; ++thread.tid[0]) {
        run(&thread);
        ++thread.index;
        if (monitor && thread.index % SINTER_EMU_WARP == 0)
          monitor->warpEnds();
      }
}

void BlockRunner::fiberMain(Fiber &self) {
  auto &thread = static_cast<Thread &>(self);
  BlockRunner &runner = *static_cast<const Block *>(thread.block)->runner;
  runner.launch->kernel.run(&thread);
  runner.finish(thread);
}

void BlockRunner::runFibers() {
  const auto &extent = launch->shape.block;
  alive = launch->threads();
  waitingAtBarriers = 0;
  barriers = {};
  ready = {};
  for (Warp &warp : warps) {
    warp.live = 0;
    warp.meetings.clear();
  }
  for (uint32_t index = 0; index < alive; ++index) {
    Thread &thread = threads[index];
    thread.block = &block;
    thread.index = index;
    thread.tid[0] = index % extent[0];
    thread.tid[1] = index / extent[0] % extent[1];
    thread.tid[2] = index / extent[0] / extent[1];
    thread.state = Thread::State::Ready;
    warps[index / SINTER_EMU_WARP].live |= 1u << index % SINTER_EMU_WARP;
    stacks.assign(thread, index);
    startFiber(thread, fiberMain);
    ready.append(thread);
  }
  adoptHost(host);
  switchFiber(host, *ready.takeFirst());
  if (alive != 0)
    reportStuck();
}

/// Lets the next thread that is ready go on; the worker, if there is none.
void BlockRunner::suspend(Thread &self, bool last) {
  Thread *next = ready.takeFirst();
  switchFiber(self, next ? *next : host, last);
}

void BlockRunner::finish(Thread &self) {
  self.state = Thread::State::Done;
  --alive;
  if (waitingAtBarriers != 0)
    for (Barrier &barrier : barriers)
      if (barrier.arrived != 0 && barrier.expected == 0 && barrier.arrived == alive)
        releaseBarrier(barrier);
  uint32_t index = self.index / SINTER_EMU_WARP;
  Warp &warp = warps[index];
  warp.live &= ~(1u << self.index % SINTER_EMU_WARP);
  for (size_t i = 0; i < warp.meetings.size();) {
    Meeting meeting = warp.meetings[i];
    if (meeting.arrived != (meeting.mask & warp.live)) {
      ++i;
      continue;
    }
    warp.meetings.erase(warp.meetings.begin() + i);
    complete(index, meeting, nullptr);
  }
  suspend(self, /*last=*/true);
}

uint32_t BlockRunner::barrier(Thread &self, uint32_t id, uint32_t expected, bool value, bool wait,
                              uint32_t site) {
  Barrier &barrier = barriers[id % barriers.size()];
  if (id >= barriers.size())
    launch->findings.add(Fault::DivergentBarrier, self, site,
                         [&] { return concat("barrier ", id, " does not exist; a block has 16"); });
  if (barrier.arrived == 0) {
    barrier.site = site;
    barrier.expected = expected;
  } else if (monitor && wait && (barrier.site != site || barrier.expected != expected)) {
    launch->findings.add(Fault::DivergentBarrier, self, site, [&] {
      return concat("others of the block wait at the barrier of ",
                    placeOf(launch->kernel, barrier.site));
    });
  }
  ++barrier.arrived;
  barrier.votes += value;
  if (barrier.arrived >= (barrier.expected ? barrier.expected : alive)) {
    uint32_t votes = barrier.votes;
    releaseBarrier(barrier);
    return votes;
  }
  if (!wait)
    return 0;
  self.state = Thread::State::AtBarrier;
  self.site = site;
  barrier.waiting.append(self);
  ++waitingAtBarriers;
  suspend(self);
  return uint32_t(self.result);
}

void BlockRunner::releaseBarrier(Barrier &barrier) {
  if (monitor)
    monitor->barrier();
  while (Thread *thread = barrier.waiting.takeFirst()) {
    thread->result = barrier.votes;
    thread->state = Thread::State::Ready;
    --waitingAtBarriers;
    ready.append(*thread);
  }
  barrier = {};
}

void BlockRunner::trap(const sinter_emu_thread &self, const char *reason, uint32_t site) {
  launch->findings.add(Fault::Trap, self, site, [&] {
    return reason ? concat("assertion '", reason, "' failed") : std::string("the kernel trapped");
  });
}

void *BlockRunner::access(const sinter_emu_thread &self, uint64_t address, uint32_t site) {
  return monitor ? monitor->access(self, address, site)
                 : hostAddress(block, launch->kernel.sites[site].space, address);
}

std::string BlockRunner::whereIs(const Thread &thread) const {
  switch (thread.state) {
  case Thread::State::Done:
    return "is done";
  case Thread::State::AtBarrier:
    return concat("waits at the barrier of ", placeOf(launch->kernel, thread.site));
  default:
    return concat("waits for lanes 0x", std::hex, thread.operands.mask, std::dec, " at ",
                  placeOf(launch->kernel, thread.site));
  }
}

/// Nobody can go on: the first thread that waits, and why it waits in vain.
void BlockRunner::reportStuck() {
  uint32_t count = launch->threads();
  auto waits = [](const Thread &thread) { return thread.state != Thread::State::Done; };
  auto first = std::find_if(threads.begin(), threads.begin() + count, waits);
  auto other = std::find_if(first, threads.begin() + count, [&](const Thread &thread) {
    return waits(thread) && (thread.state != first->state || thread.site != first->site ||
                             thread.operands.mask != first->operands.mask);
  });
  bool atBarrier = first->state == Thread::State::AtBarrier;
  launch->findings.add(
      atBarrier ? Fault::DivergentBarrier : Fault::DivergentWarp, *first, first->site, [&] {
        std::string text =
            concat("of ", alive, " live threads ",
                   std::count_if(threads.begin(), threads.begin() + count,
                                 [&](const Thread &thread) {
                                   return waits(thread) && thread.site == first->site;
                                 }),
                   atBarrier ? " wait here for ever" : " wait for their lanes for ever");
        if (other != threads.begin() + count)
          text += concat("; thread ", coordinates(other->index, block.ntid), " ", whereIs(*other));
        return text;
      });
  uint64_t index =
      block.ctaid[0] +
      uint64_t(block.nctaid[0]) * (block.ctaid[1] + uint64_t(block.nctaid[1]) * block.ctaid[2]);
  uint64_t known = launch->stuckBlock.load(std::memory_order_relaxed);
  while (index < known && !launch->stuckBlock.compare_exchange_weak(known, index)) {
  }
}

} // namespace sinter::rt::emu
