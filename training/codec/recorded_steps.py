"""Training steps as CUDA graphs: a step of the codec is thousands of small kernels, and starting each takes longer than it runs."""

import torch


class EagerSteps:
    def __init__(self, step):
        self.step = step

    def run(self, inputs, phase):
        return self.step(*inputs)


class RecordedSteps:
    """Records step(*inputs) once for each shape and phase, then only replays it. What a step reads besides its inputs must
    lie in tensors that stay where they are."""

    WARM_UP = 3

    def __init__(self, step, log, simplify):
        """simplify() is called once, where recording fails, before it is tried again."""
        self.simplify = simplify
        self.step, self.log, self.graphs, self.phase, self.pool = step, log, {}, None, None

    def run(self, inputs, phase):
        if self.graphs is None:
            return self.step(*inputs)
        if phase != self.phase:         # a phase never comes back
            self.graphs, self.phase, self.pool = {}, phase, None
            torch.cuda.empty_cache()
        shapes = tuple(x.shape for x in inputs)
        if shapes not in self.graphs:
            try:
                self.graphs[shapes] = self.record(inputs)
            except Exception as error:      # a driver or a kernel that cannot be recorded
                self.log(f"steps are not recorded: {error}")
                torch.cuda.synchronize()
                if self.simplify is None:
                    self.graphs = None
                    return self.step(*inputs)
                self.simplify()
                self.simplify, self.pool = None, None
                return self.run(inputs, phase)
        given, graph, parts = self.graphs[shapes]
        for to, x in zip(given, inputs):
            to.copy_(x)
        graph.replay()
        return parts

    def record(self, inputs):
        given, stream = [x.clone() for x in inputs], torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(self.WARM_UP):   # steps like any others
                self.step(*given)
        torch.cuda.current_stream().wait_stream(stream)
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            parts = self.step(*given)
        return given, graph, parts
