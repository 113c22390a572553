"""PyTorch's side of gpu_check.py: the recorded models, weights, batches and optimizer, on request.

--variant=eager is what PyTorch's own examples write; --variant=graph captures the whole step in a
CUDA graph and replays it. Each step takes its batch from host memory and gives its loss to the
host, as sinter's does. Answers "run N" with the seconds of N steps and, before any, "difference"
with the largest relative difference of its losses from the recorded ones.
"""

import argparse
import math
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from mnist_torch import Cnn, loadSafetensors  # benchmarks/peers, beside this file in a bundle
from torch import nn

WARM_STEPS = 3  # before a capture, as PyTorch's documentation asks for


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.project(x).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class TransformerBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, 4)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.drop(self.attention(self.before(x)))
        return x + self.drop(self.down(F.gelu(self.up(self.between(x)))))


class Transformer(nn.Module):
    def __init__(self, vocabulary=50, length=24, width=64):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([TransformerBlock(width) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, index):
        x = self.tokens(index) + self.positions(torch.arange(index.shape[1], device=index.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class Trainer:
    def __init__(self, args):
        self.device = torch.device(args.device)
        tensors = loadSafetensors(args.exchange / f"{args.model}.safetensors")
        self.losses = [tensors[f"loss.{i}"].item() for i in self.numbers(tensors)]
        self.batches = [
            (tensors[f"input.{i}"], tensors[f"label.{i}"]) for i in self.numbers(tensors)
        ]
        if self.device.type == "cuda":
            self.batches = [(a.pin_memory(), b.pin_memory()) for a, b in self.batches]
        self.net = Transformer() if args.model == "transformer" else Cnn()
        state = self.net.state_dict()
        absent = [n for n in dict(self.net.named_parameters()) if f"variable.{n}" not in tensors]
        if absent:
            raise SystemExit(f"torch_peer.py: {args.model} was recorded without {absent}")
        for name in state:
            if f"variable.{name}" in tensors:
                state[name] = tensors[f"variable.{name}"]
        self.net.load_state_dict(state)
        self.net.to(self.device)
        self.first = {name: value.clone() for name, value in self.net.state_dict().items()}
        rate = tensors["variable.sgd.learning_rate"].item()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=rate)
        self.image, self.label = (each.to(self.device) for each in self.batches[0])
        self.loss, self.graph = None, None
        if args.variant == "graph":
            self.capture()
        self.done = 0

    @staticmethod
    def numbers(tensors):
        return range(sum(name.startswith("input.") for name in tensors))

    def work(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss = F.cross_entropy(self.net(self.image), self.label)
        self.loss.backward()
        self.optimizer.step()

    def capture(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_STEPS):
                self.work()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.work()
        with torch.no_grad():  # back to the start, in place: the graph knows the addresses
            for name, value in self.net.state_dict().items():
                value.copy_(self.first[name])

    def step(self):
        image, label = self.batches[self.done % len(self.batches)]
        self.done += 1
        self.image.copy_(image, non_blocking=True)
        self.label.copy_(label, non_blocking=True)
        if self.graph:
            self.graph.replay()
        else:
            self.work()
        return self.loss.item()

    def difference(self):
        losses = [self.step() for _ in self.losses]
        worst = max(abs(a - b) / abs(b) for a, b in zip(losses, self.losses, strict=True))
        return worst if math.isfinite(sum(losses)) else math.inf

    def seconds(self, count):
        for _ in range((count + 9) // 10):
            self.step()
        start = time.perf_counter()
        for _ in range(count):
            self.step()
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models = ("mnist_cnn", "mnist_cnn_large", "transformer")
    parser.add_argument("--model", choices=models, required=True)
    parser.add_argument("--variant", choices=("eager", "graph"), default="eager")
    parser.add_argument("--exchange", type=Path, required=True, help="folder of the recorded models")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False  # sinter's f32 is f32
    torch.backends.cudnn.allow_tf32 = False
    trainer = Trainer(args)
    print(f"ready {torch.__version__}", flush=True)
    for line in sys.stdin:
        what, *count = line.split()
        if what == "difference":
            print(f"{trainer.difference():.9g}", flush=True)
        elif what == "run":
            print(f"{trainer.seconds(int(count[0])):.9f}", flush=True)
        else:
            raise SystemExit(f"torch_peer.py: '{line.strip()}' is no request")


if __name__ == "__main__":
    main()
