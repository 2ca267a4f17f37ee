"""The block drafter's training examples, its two ways to draft, and its file.

    python3 -m unittest discover tests/training
"""

import importlib.util
from pathlib import Path
import sys
import tempfile
import unittest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "training" / "drafter"), str(ROOT / "training" / "text")]

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch

    import attention
    import blocks
    import drafter
    import drafter_file
    from model import Config, Model
    import speculate

N, ANCHORS, BLOCK, END = 40, 5, 8, 7


@unittest.skipUnless(HAS_TORCH, "needs torch")
class Blocks(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.tokens = torch.randint(0, 50, (2, N))
        self.documents = (torch.arange(N) // 17)[None].expand(2, -1).int().contiguous()
        self.is_answer = torch.rand(2, N) < 0.8
        self.anchors, self.valid = blocks.choose_anchors(self.is_answer, self.tokens == END, ANCHORS)

    def test_blocks_begin_inside_answers(self):
        here = self.is_answer.gather(1, self.anchors) & (self.tokens.gather(1, self.anchors) != END)
        self.assertTrue(torch.equal(here, self.valid))
        self.assertTrue(bool((self.anchors[:, 1:] > self.anchors[:, :-1]).all()))

    def test_slots_count_while_the_text_is_what_the_target_says(self):
        next_token = torch.cat([self.tokens[:, 1:], self.tokens[:, :1]], dim=1)
        greedy = torch.where(torch.rand(2, N) < 0.8, next_token, torch.randint(0, 50, (2, N)))
        labels, weights = blocks.block_targets(self.tokens, self.is_answer, greedy, self.anchors, self.valid, BLOCK)
        for row in range(2):
            for a in range(ANCHORS):
                p, counts = int(self.anchors[row, a]), bool(self.valid[row, a])
                for slot in range(1, BLOCK):
                    counts = counts and p + slot < N and bool(self.is_answer[row, p + slot])
                    counts = counts and (slot == 1 or bool(greedy[row, p + slot - 2] == self.tokens[row, p + slot - 1]))
                    expected = blocks.SLOT_DECAY ** (slot - 1) if counts else 0
                    self.assertAlmostEqual(float(weights[row, a, slot - 1]), expected, places=5)
                    if counts:
                        self.assertEqual(int(labels[row, a, slot - 1]), int(greedy[row, p + slot - 1]))

    def test_a_block_sees_earlier_tokens_of_its_document_and_itself(self):
        mask = blocks.dense_mask(self.documents, self.anchors, BLOCK)
        for row in range(2):
            for a in range(ANCHORS):
                p = int(self.anchors[row, a])
                context = [k < p and bool(self.documents[row, k] == self.documents[row, p]) for k in range(N)]
                own = [k // BLOCK == a for k in range(ANCHORS * BLOCK)]
                for slot in range(BLOCK):
                    self.assertEqual(mask[row, 0, a * BLOCK + slot].tolist(), context + own)

    def test_tokens_a_step(self):
        labels = torch.tensor([[[1, 2, 3]], [[1, 2, 3]]])
        logits = torch.nn.functional.one_hot(torch.tensor([[[1, 2, 9]], [[9, 2, 3]]]), 10).float()
        mean, right, tries = blocks.slot_accuracy(logits, labels, torch.ones(2, 1, 3))
        self.assertEqual((float(mean), right.tolist(), tries.tolist()), (2.0, [1, 1, 0], [2, 1, 1]))


@unittest.skipUnless(HAS_TORCH, "needs torch")
class Drafting(unittest.TestCase):
    """A target and a drafter of random weights."""

    def setUp(self):
        torch.manual_seed(2)
        sizes = Config(n_vocab=64, n_embd=64, n_layer=4, n_head=2, n_head_kv=1, head_dim=32, n_ff=64, n_ctx=256)
        self.target = Model(sizes).eval().requires_grad_(False)
        config = drafter.DrafterConfig(sizes, n_head=2, n_head_kv=1, n_ff=32, mask_token=63)
        self.drafter = drafter.Drafter(config).eval()
        for parameter in [*self.target.parameters(), *self.drafter.parameters()]:
            if parameter.dim() == 2:
                parameter.data.mul_(8)      # so that the likeliest token depends on what is seen
        self.device = torch.device("cpu")

    def test_training_and_generation_draft_the_same(self):
        torch.set_grad_enabled(False)
        self.addCleanup(torch.set_grad_enabled, True)
        tokens, first = torch.randint(0, 60, (1, 60)), 25       # two documents of 25 and 35 tokens
        documents = (torch.arange(60) >= first).int()[None]
        anchors = torch.tensor([[3, 20, 30, 59]])
        attend = attention.Attention(self.device, flex=False)
        features, _ = drafter.target_states(self.target, tokens, lambda layer: attend.rows(documents), (1, 3))
        positions = anchors[..., None] + torch.arange(BLOCK)
        block = torch.full_like(positions, 63)
        block[..., 0] = tokens.gather(1, anchors)
        context = self.drafter.context(features, torch.arange(60)[None])
        h = self.drafter.hidden(self.target.token_embd(block.flatten(1)), positions.flatten(1), context,
                                attend.blocks(documents, anchors, BLOCK))
        trained = self.target.logits(h.view(1, 4, BLOCK, -1)[:, :, 1:]).argmax(-1)
        self.assertGreater(len(set(trained.flatten().tolist())), 5)
        for n, p in enumerate(anchors[0].tolist()):
            begin = 0 if p < first else first
            pair = speculate.Pair(self.target, self.drafter, 1, 100, self.device)
            speculate.prefill(pair, [tokens[0, begin:p].tolist()], 62)
            generated = pair.draft(tokens[0, p:p + 1], torch.tensor([p - begin]))
            self.assertEqual(generated[0].tolist(), trained[0, n].tolist())

    def test_replies_are_those_of_plain_decoding(self):
        prompts = [[1, 2, 3], [5, 6, 7, 8, 9, 10, 11], [20] * 30]
        with torch.no_grad():
            results = speculate.generate(self.target, self.drafter, prompts, END, 62, self.device)
            for prompt, result in zip(prompts, results):
                ids = list(prompt)
                while len(ids) - len(prompt) < speculate.LONGEST_REPLY and (len(ids) == len(prompt) or ids[-1] != END):
                    document = torch.zeros(1, len(ids), dtype=torch.int)
                    causal = attention.Attention(self.device, flex=False).rows(document)
                    hidden = self.target.hidden(torch.tensor([ids]), causal)
                    ids.append(int(self.target.logits(hidden)[0, -1].argmax()))
                self.assertEqual(result["ids"], ids[len(prompt):])
                self.assertEqual(1 + sum(n for _, n in result["steps"]), len(result["ids"]))
                self.assertTrue(all(kept <= n <= kept + 1 for kept, n in result["steps"]))

    def test_a_drafter_that_knows_saves_steps(self):
        """With an oracle in place of the drafter every step yields a whole block."""
        with torch.no_grad():
            slow, = speculate.generate(self.target, self.drafter, [[1, 2, 3]], END, 62, self.device)
            ids = [1, 2, 3] + slow["ids"] + [0] * 2 * BLOCK

            class Oracle(speculate.Pair):
                def draft(self, token, start):
                    at = int(start)
                    return torch.tensor([ids[at + 1:at + BLOCK]])

            plain, speculate.Pair = speculate.Pair, Oracle
            try:
                fast, = speculate.generate(self.target, self.drafter, [[1, 2, 3]], END, 62, self.device)
            finally:
                speculate.Pair = plain
        self.assertEqual(fast["ids"], slow["ids"])
        self.assertEqual(len(fast["steps"]), -(-(len(slow["ids"]) - 1) // BLOCK))

    def test_file_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "drafter.gguf"
            drafter_file.write(path, self.drafter)
            drafter_file.check(path, self.drafter.config)
            again = drafter_file.read(path, self.target.config)
            self.assertEqual(again.config, self.drafter.config)
            for name, parameter in self.drafter.named_parameters():
                difference = (dict(again.named_parameters())[name] - parameter).abs().max()
                self.assertLessEqual(float(difference), float(parameter.abs().max()) / 127)
            with self.assertRaises(ValueError):
                drafter_file.check(path, drafter.DrafterConfig(self.target.config))


if __name__ == "__main__":
    unittest.main()
