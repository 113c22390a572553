"""PyTorch's side of benchmarks/mnist.py: bench_mnist's steps, weights, batches and requests.

--variant=eager is what PyTorch's own examples write; --variant=tuned adds what its tuning guide
adds for CPUs without compiling: the fused optimizer and, for the CNN, the channels_last layout.
"""

import argparse
import json
import struct
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

DTYPES = {"F32": torch.float32, "I64": torch.int64, "U8": torch.uint8}


def loadSafetensors(path):
    raw = bytearray(path.read_bytes())
    (size,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            values = torch.frombuffer(raw[begin:end], dtype=DTYPES[entry["dtype"]])
            tensors[name] = values.reshape(entry["shape"])
    return tensors


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(1, 32), Block(32, 64)])
        self.head = nn.Linear(64 * 7 * 7, 10)

    def forward(self, image):
        x = image.float() / 255.0
        for block in self.blocks:
            x = block(x)
        return self.head(torch.flatten(x, 1))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(8, 64), nn.Linear(64, 64), nn.Linear(64, 4)

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


class Trainer:
    def __init__(self, args):
        self.net = Cnn() if args.case == "cnn" else Policy()
        self.net.load_state_dict(loadSafetensors(args.exchange / "weights.safetensors"))
        tensors = loadSafetensors(args.exchange / "batches.safetensors")
        self.batches = [
            (tensors[f"input.{i}"], tensors[f"label.{i}"]) for i in range(len(tensors) // 2)
        ]
        tuned = args.variant == "tuned"
        if tuned and args.case == "cnn":
            self.net.to(memory_format=torch.channels_last)
        rule = torch.optim.AdamW if args.case == "cnn" else torch.optim.Adam
        self.optimizer = rule(self.net.parameters(), **({"fused": True} if tuned else {}))
        self.done = 0

    def step(self):
        image, label = self.batches[self.done % len(self.batches)]
        self.done += 1
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(image), label)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def seconds(self, count):
        for _ in range((count + 9) // 10):
            self.step()
        start = time.perf_counter()
        for _ in range(count):
            self.step()
        return time.perf_counter() - start


def productPeak(size=1024, rounds=12):
    """GFLOP/s of the best square matrix product."""
    a, b = torch.rand(size, size), torch.rand(size, size)
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9


def profile(trainer, count):
    from torch.profiler import ProfilerActivity, profile as record

    trainer.seconds(count)
    with record(activities=[ProfilerActivity.CPU]) as recorded:
        trainer.seconds(count)
    return recorded.key_averages().table(
        sort_by="self_cpu_time_total", row_limit=20, max_name_column_width=48
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=("cnn", "policy"), required=True)
    parser.add_argument("--variant", choices=("eager", "tuned"), default="eager")
    parser.add_argument(
        "--exchange", type=Path, required=True, help="where bench_mnist put weights and batches"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--profile", type=int, metavar="STEPS", help="print PyTorch's own profile and leave"
    )
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    trainer = Trainer(args)
    if args.profile:
        print(profile(trainer, args.profile))
        return
    print(f"ready {torch.__version__}", flush=True)
    for line in sys.stdin:
        what, *count = line.split()
        if what == "losses":
            print(*(f"{trainer.step():.9g}" for _ in range(int(count[0]))), flush=True)
        elif what == "run":
            print(f"{trainer.seconds(int(count[0])):.9f}", flush=True)
        elif what == "peak":
            print(f"{productPeak():.1f}", flush=True)
        else:
            raise SystemExit(f"mnist_torch.py: '{line.strip()}' is no request")


if __name__ == "__main__":
    main()
