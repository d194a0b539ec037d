"""worker.py: times the peers that are Python packages; run.py starts it and keeps it, so that data stays loaded.

One JSON object a line on standard input, {"peer", "path", "n", "k", "rows", "calls"}, one on standard output,
{"ms": [...], "kth": least value of the first row's answer} or {"error": text}.
"""
import json
import os
import sys
import time

ENOUGH_S = 1.0  # no further call after that long


class Data:
    """The first rows * n floats of a file."""

    def __init__(self):
        self.key = self.array = self.tensor = None

    def load(self, path, rows, n):
        import numpy
        if self.key != (path, rows, n):
            self.tensor = None
            self.array = numpy.fromfile(path, dtype=numpy.float32, count=rows * n).reshape(rows, n)
            self.key = (path, rows, n)
        return self.array

    def as_tensor(self):
        import torch
        if self.tensor is None:
            torch.set_num_threads(os.cpu_count())
            self.tensor = torch.from_numpy(self.array)
        return self.tensor


# Each prepares what is not to be timed and returns the call and what finds the k-th value of the first row.


def numpy_partition(data, k):
    import numpy
    x = data.array

    return lambda: numpy.partition(x, x.shape[1] - k, axis=1)[:, -k:], lambda answer: answer[0].min()


def numpy_argpartition(data, k):
    import numpy
    x = data.array

    return lambda: numpy.argpartition(x, x.shape[1] - k, axis=1)[:, -k:], lambda answer: x[0][answer[0]].min()


def torch_topk(data, k):
    import torch
    x = data.as_tensor()

    return lambda: torch.topk(x, k, dim=1), lambda answer: answer.values[0].min().item()


def faiss_heap(data, k):
    """A heap a row, as in faiss's own searches; a min-heap keeps the largest."""
    import faiss
    import numpy
    x = data.array
    rows, n = x.shape
    values, ids = numpy.empty((rows, k), numpy.float32), numpy.empty((rows, k), numpy.int64)
    heaps = faiss.float_minheap_array_t()
    heaps.nh, heaps.k = rows, k
    heaps.val, heaps.ids = faiss.swig_ptr(values), faiss.swig_ptr(ids)
    faiss.omp_set_num_threads(os.cpu_count())

    def call():
        heaps.heapify()
        heaps.addn(n, faiss.swig_ptr(x))
        heaps.reorder()
        return values, ids  # both: the heaps do not keep them alive

    return call, lambda answer: answer[0][0].min()


PEERS = {"numpy.partition": numpy_partition, "numpy.argpartition": numpy_argpartition, "torch.topk": torch_topk,
         "faiss heap": faiss_heap}


def measure(data, request):
    data.load(request["path"], request["rows"], request["n"])
    call, kth = PEERS[request["peer"]](data, request["k"])
    times = []
    begin = time.perf_counter()
    while len(times) < request["calls"] and (not times or time.perf_counter() - begin < ENOUGH_S):
        start = time.perf_counter()
        answer = call()
        times.append(1e3 * (time.perf_counter() - start))
    return {"ms": times, "kth": float(kth(answer))}


def main():
    data = Data()
    for line in sys.stdin:
        try:
            reply = measure(data, json.loads(line))
        except Exception as error:  # whatever a package throws is its reply
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
