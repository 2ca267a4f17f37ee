"""The gradients of a batch: compiled and recorded as a CUDA graph where that works, less fast where it does not."""

from dataclasses import fields

import torch

from objective import ALL, Attention, DENSE, loss_function

WARM_UP = 3


def tensors_of(x):
    return [getattr(x, field.name) for field in fields(x)]


class Gradients:
    def __init__(self, model, is_compiled, is_recorded, log):
        """log: what is told of compilers and recordings that fail."""
        self.model, self.parameters, self.log = model, list(model.parameters()), log
        self.device = self.parameters[0].device
        is_gpu = self.device.type == "cuda"
        self.is_recorded, self.graph, self.n_step = is_gpu and is_recorded, None, 0
        self.compile(ALL if is_gpu and is_compiled else DENSE)

    def compile(self, what):
        self.attention = Attention(what)
        self.loss_of = loss_function(self.model, self.attention)

    def of(self, x, phone_weight):
        """Leaves the gradients of a network_input.Input in the parameters, and returns the losses of codes and of phones.

        phone_weight: a tensor that is the same one each time.
        """
        self.n_step += 1
        if self.is_recorded and self.n_step > WARM_UP:
            try:
                return self.replay(x, phone_weight)
            except Exception as error:      # a driver or a kernel that cannot be recorded
                if self.graph:
                    raise
                self.log(f"steps are not recorded ({type(error).__name__}: {str(error)[:300]})")
                self.is_recorded = False
                torch.cuda.synchronize()
        while True:
            try:
                return self.eagerly(x, phone_weight)
            except Exception as error:      # compilers fail in ways of their own
                if self.attention.compiled == DENSE or self.n_step > 1:
                    raise
                self.log(f"compiling failed ({type(error).__name__}: {str(error)[:300]}); goes on with less of it")
                self.compile(self.attention.compiled - 1)

    def eagerly(self, x, phone_weight):
        for p in self.parameters:
            p.grad = None
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
            loss, parts = self.loss_of(x.text, x.codes, x.is_text, x.pos, self.attention.mask(x.document), x.targets, x.labels,
                                       x.weights, x.phones, phone_weight)
        loss.backward()
        return parts

    def replay(self, x, phone_weight):
        if self.graph is None:
            self.record(x, phone_weight)
        for to, given in zip(tensors_of(self.given), tensors_of(x)):
            to.copy_(given)
        self.graph.replay()
        for p, gradient in zip(self.parameters, self.gradients):
            p.grad = gradient
        return self.parts

    def record(self, x, phone_weight):
        self.given = type(x)(*(part.clone() for part in tensors_of(x)))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):     # gradients of the recording are none that an optimizer keeps
            self.eagerly(self.given, phone_weight)
        torch.cuda.current_stream().wait_stream(stream)
        for p in self.parameters:
            p.grad = None
        graph = torch.cuda.CUDAGraph()
        # Other threads may call the driver meanwhile: batches are put into pinned memory.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.parts = self.eagerly(self.given, phone_weight)
        self.gradients = [p.grad for p in self.parameters]
        self.graph = graph
