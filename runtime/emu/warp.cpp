#include "block_runner.h"
#include "monitor.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sinter::rt::emu {

uint64_t BlockRunner::meet(Thread &self, const Operands &operands, uint32_t site) {
  uint32_t index = self.index / SINTER_EMU_WARP, bit = 1u << self.index % SINTER_EMU_WARP;
  Warp &warp = warps[index];
  self.operands = operands;
  if (!(operands.mask & bit)) {
    launch->findings.add(Fault::DivergentWarp, self, site, [&] {
      return concat("the mask 0x", std::hex, operands.mask, std::dec,
                    " does not name the lane that runs this");
    });
    self.operands.mask |= bit;
  }
  auto meeting =
      std::find_if(warp.meetings.begin(), warp.meetings.end(), [&](const Meeting &known) {
        return known.mask == self.operands.mask && known.op == operands.op &&
               known.mode == operands.mode && !(known.arrived & bit);
      });
  if (meeting == warp.meetings.end()) {
    warp.meetings.push_back({self.operands.mask, 0, operands.op, operands.mode, site});
    meeting = std::prev(warp.meetings.end());
  } else if (monitor && meeting->site != site) {
    launch->findings.add(Fault::DivergentWarp, self, site, [&] {
      return concat("other lanes of the mask do this at ", placeOf(launch->kernel, meeting->site));
    });
  }
  meeting->arrived |= bit;
  if (meeting->arrived == (meeting->mask & warp.live)) {
    Meeting whole = *meeting;
    warp.meetings.erase(meeting);
    complete(index, whole, &self);
    return self.result;
  }
  self.state = Thread::State::InWarp;
  self.site = site;
  suspend(self);
  return self.result;
}

/// What lane `self` gets of PTX's shfl.sync.
uint64_t BlockRunner::shuffled(const Thread &self, uint32_t warp, uint32_t arrived) {
  const Operands &own = self.operands;
  int lane = int(self.index % SINTER_EMU_WARP), by = int(own.lane & 31);
  int segment = int(own.clamp >> 8 & 31), clamp = int(own.clamp & 31);
  int last = (lane & segment) | (clamp & ~segment), first = lane & segment, source = 0;
  bool inside = false;
  switch (own.mode) {
  case SINTER_EMU_SHUFFLE_UP:
    source = lane - by;
    inside = source >= last;
    break;
  case SINTER_EMU_SHUFFLE_DOWN:
    source = lane + by;
    inside = source <= last;
    break;
  case SINTER_EMU_SHUFFLE_BFLY:
    source = lane ^ by;
    inside = source <= last;
    break;
  default:
    source = first | (by & ~segment);
    inside = source <= last;
  }
  if (!inside)
    source = lane;
  uint64_t predicate = uint64_t(inside) << 32;
  if (arrived >> source & 1)
    return predicate | uint32_t(threads[warp * SINTER_EMU_WARP + source].operands.value);
  if (monitor)
    launch->findings.add(Fault::DivergentWarp, self, self.site, [&] {
      return concat("shuffles from lane ", source, ", which takes no part");
    });
  return predicate | UINT32_MAX;
}

static uint32_t combine(uint32_t operation, uint32_t a, uint32_t b) {
  float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  switch (operation) {
  case SINTER_EMU_ADD:
    return a + b;
  case SINTER_EMU_AND:
    return a & b;
  case SINTER_EMU_OR:
    return a | b;
  case SINTER_EMU_XOR:
    return a ^ b;
  case SINTER_EMU_MIN:
    return uint32_t(std::min(int32_t(a), int32_t(b)));
  case SINTER_EMU_MAX:
    return uint32_t(std::max(int32_t(a), int32_t(b)));
  case SINTER_EMU_UMIN:
    return std::min(a, b);
  case SINTER_EMU_UMAX:
    return std::max(a, b);
  case SINTER_EMU_FMIN:
    return std::bit_cast<uint32_t>(std::fmin(x, y));
  default:
    return std::bit_cast<uint32_t>(std::fmax(x, y));
  }
}

/// Gives all that met their results, and lets those go on that are not `self`.
void BlockRunner::complete(uint32_t warp, Meeting meeting, Thread *self) {
  Thread *lanes = &threads[warp * SINTER_EMU_WARP];
  auto each = [&](auto &&visit) {
    for (uint32_t left = meeting.arrived; left != 0; left &= left - 1)
      visit(lanes[std::countr_zero(left)], std::countr_zero(left));
  };
  if (self)
    self->site = meeting.site;
  uint64_t common = 0;
  bool start = true;
  if (meeting.op == WarpOp::Ballot) {
    each([&](Thread &lane, int bit) { common |= uint64_t(lane.operands.value != 0) << bit; });
    common |= uint64_t(meeting.arrived) << 32;
  } else if (meeting.op == WarpOp::Reduce) {
    each([&](Thread &lane, int) {
      uint32_t value = uint32_t(lane.operands.value);
      common = start ? value : combine(meeting.mode, uint32_t(common), value);
      start = false;
    });
  } else if (meeting.op == WarpOp::Barrier && monitor) {
    monitor->warpBarrier(warp, meeting.arrived);
  }
  each([&](Thread &lane, int) {
    if (meeting.op == WarpOp::Shuffle) {
      lane.result = shuffled(lane, warp, meeting.arrived);
    } else if (meeting.op == WarpOp::Match) {
      uint32_t same = 0;
      each([&](Thread &other, int bit) {
        same |= uint32_t(other.operands.value == lane.operands.value) << bit;
      });
      lane.result = same | uint64_t(meeting.arrived) << 32;
    } else {
      lane.result = common;
    }
  });
  // The warp goes on before others do, while its stacks are in the cache.
  List released;
  each([&](Thread &lane, int) {
    if (&lane == self)
      return;
    lane.state = Thread::State::Ready;
    released.append(lane);
  });
  ready.prepend(released);
}

} // namespace sinter::rt::emu
