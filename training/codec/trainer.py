"""A training step of the codec: what is minimised, and how weights move."""

from contextlib import nullcontext
import os

import torch

from discriminators import Critics
import gguf_file
import losses
from model import TINY, Codec, Config
from quantiser import CodebookLearner
from recogniser import Judge

BETAS = (0.8, 0.99)
MOST_NORM = 1.5                                 # of a gradient, as a multiple of what is usual
AVERAGE = 0.998                                 # decay of the average of the weights, which is exported
FLOOR, BEND = 5e-4, 0.1                         # of the mel loss
BALANCE = 0.7                                   # gradient that critics ask for, as a share of the other losses'
MAKES_SOUND = ("fc2.", "acoustic_decoder.")     # begin of the names of what follows the codes
MEANS_CODES = ("quantizer.",)
SHIFT = 3                                       # frames that the second view of a crop begins later
WEIGHTS = {"mel": 15.0, "heard": 15.0, "commitment": 0.25, "content": 8.0, "phones": 2.0, "views": 10.0,
           "same": 20.0, "adversarial": 1.0, "feature": 2.0}
HEARD_THROUGH = 25.0                            # weight of "heard" with --see-through, where words are what is to be learnt


class Trainer:
    def __init__(self, a, device):
        self.a, self.device = a, device
        self.config = Config(**(TINY if a.smoke else {}))
        self.codec = Codec(self.config).to(device)
        self.head = losses.ContentHead(self.config.n_latent).to(device)
        self.phone_head = losses.PhoneHead(self.config.n_latent).to(device)
        self.listeners = [Judge(folder, device) for folder in a.recogniser or ()]
        self.judge_of_speech = self.listeners[0] if self.listeners else None
        self.critics = Critics(*((4, 2) if a.smoke else (32, 16))).to(device)
        self.mel = losses.MelLoss(FLOOR, BEND).to(device)
        self.learner = CodebookLearner(self.codec.quantizer)
        self.average = {name: x.detach().clone() for name, x in self.codec.state_dict().items()}
        moves = ((lambda name: name.startswith(MAKES_SOUND)) if a.keep_codes else
                 (lambda name: not name.startswith(MEANS_CODES)) if a.see_through else lambda name: True)
        for name, x in self.codec.named_parameters():
            x.requires_grad_(moves(name))
        self.moving = [name for name in self.average if moves(name)]
        self.teacher = None             # hears clean speech as the codec did at the start
        self.trained = [x for part in (self.codec, self.head, self.phone_head) for x in part.parameters() if x.requires_grad]
        self.optimizer = optimizer(self.trained, a.lr, device)
        self.critics_optimizer = optimizer(self.critics.parameters(), a.critics_lr, device)
        self.adversarial = torch.zeros((), device=device)       # how much the critics count, in 0..1
        self.usual, self.usual_of_critics = torch.zeros((), device=device), torch.zeros((), device=device)
        self.step_count, self.trained_seconds, self.has_codebooks, self.has_critics = 0, 0.0, False, False

    def half(self):
        if self.device.type != "cuda":
            return nullcontext()
        return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)

    PARTS = ("codec", "head", "phone_head", "critics", "optimizer", "critics_optimizer")
    COUNTS = ("step_count", "trained_seconds", "has_codebooks")

    def save(self, path):
        state = {name: getattr(self, name).state_dict() for name in self.PARTS}
        state.update({name: getattr(self, name) for name in self.COUNTS}, average=self.average, learner=self.learner.state(),
                     config=self.config.as_dict())
        torch.save(state, str(path) + ".unfinished")
        os.replace(str(path) + ".unfinished", path)

    def load(self, path):
        state = torch.load(path, map_location=self.device)
        for name in self.PARTS:
            getattr(self, name).load_state_dict(state[name])
        for name in self.COUNTS:
            setattr(self, name, state[name])
        for name, x in state["average"].items():
            self.average[name].copy_(x)
        self.learner.load(state["learner"])

    def start_from(self, path):
        """Weights and codebooks of a codec that exists, whose counts are taken as even."""
        start = gguf_file.load(path, self.device)
        self.codec.take(start)
        for name, x in self.codec.state_dict().items():
            self.average[name].copy_(x)
        for embed, total, count in zip(self.learner.embeds, self.learner.sums, self.learner.counts):
            total.copy_(embed)
            count.fill_(1)
        self.has_codebooks = True
        if self.a.see_through:
            self.teacher = start.requires_grad_(False)

    @torch.no_grad()
    def start_codebooks(self, batches):
        with self.half():
            latents = [self.codec.latent(sound) for sound in batches]
        self.learner.start(self.codec.quantizer, torch.cat([r.flatten(0, 1) for r in latents]))
        for name, x in self.codec.quantizer.state_dict().items():
            self.average["quantizer." + name].copy_(x)
        self.has_codebooks = True

    def quantise(self, r):
        """r: (crops, frames, n_latent). 30 % of the crops are coded by fewer levels."""
        n_crops, n_frames = r.shape[:2]
        n_levels = torch.randint(2, self.config.n_codebook + 1, (n_crops,), device=self.device)
        n_levels = torch.where(torch.rand(n_crops, device=self.device) < 0.3, n_levels, self.config.n_codebook)
        *outs, commitment = self.codec.quantizer(r.flatten(0, 1), n_levels.repeat_interleave(n_frames), self.learner)
        return [out.unflatten(0, (n_crops, n_frames)) for out in outs] + [commitment]

    def views(self, real, r):
        """How little latents depend on what lies around, and the first level's on loudness and noise: some crops again,
        from a later frame on, half of them changed."""
        half = max(1, len(real) // 8)
        view = real[:2 * half, SHIFT * self.config.hop:]
        plain, changed = view[:half], view[half:]
        random = lambda: torch.rand(half, 1, device=self.device)
        noise = changed.square().mean(1, keepdim=True).sqrt() * 10 ** (-1.2 - random()) * torch.randn_like(changed)
        changed = (changed * 10 ** ((random() * 6 - 3) / 20) + noise).clamp(-1, 1)
        with self.half():
            again = self.codec.latent(torch.cat([plain, changed]))[:, SHIFT:-1]
        before, first = r[:2 * half, 2 * SHIFT:-1], self.codec.quantizer.quantizers[0].project_in
        return losses.relative_error(again[:half], before[:half]) + losses.relative_error(first(again), first(before))

    def phase(self):
        """What differs between steps but numbers; a recorded step repeats one phase."""
        return self.has_codebooks, self.has_critics, self.learner.may_restart

    def set(self, scale, adversarial):
        """Learning rates for the next step, as a share of their full values, and how much the critics count."""
        for chosen, lr in ((self.optimizer, self.a.lr), (self.critics_optimizer, self.a.critics_lr)):
            for group in chosen.param_groups:
                if torch.is_tensor(group["lr"]):
                    group["lr"].fill_(lr * scale * group["share"])
                else:
                    group["lr"] = lr * scale * group["share"]
        self.adversarial.fill_(adversarial)
        self.has_critics = adversarial > 0

    def step(self, real, phones, heard=None):
        """One step of both sides on sound (crops, samples), its phones, and what is heard of it if that is not the sound.
        Nothing in it waits for the device."""
        parts = (self.step_of_sound(real) if self.a.keep_codes else
                 self.step_of_all(real, phones) if heard is None else self.step_of_hearing(real, heard))
        parts["norm"] = apply(self.optimizer, self.trained, self.usual)
        with torch.no_grad():
            state, average = self.codec.state_dict(), [self.average[name] for name in self.moving]
            torch._foreach_mul_(average, AVERAGE)
            torch._foreach_add_(average, [state[name] for name in self.moving], alpha=1 - AVERAGE)
        return {name: value.detach() for name, value in parts.items()}

    def step_of_all(self, real, phones):
        """Leaves gradients and returns what is minimised."""
        with self.half():
            r = self.codec.latent(real)
        z, first, first_two, commitment = (self.quantise(r) if self.has_codebooks else
                                           (r, r, r, torch.zeros((), device=self.device)))
        with self.half():
            made = self.codec.sound(z)
        parts, of_made = self.listen(made.detach(), real)
        inner = {"commitment": commitment, "content": self.head(first_two, real)}
        inner["phones"], right = self.phone_head(first, phones)
        if self.has_codebooks:
            inner["views"] = self.views(real, r)
        torch.autograd.backward([sum(WEIGHTS[name] * value for name, value in inner.items()), made], [None, of_made])
        return {**parts, **inner, "right": right}

    def step_of_sound(self, real):
        """The same where codes are kept: only their sound is learnt."""
        with self.half():
            with torch.no_grad():
                codes = self.codec.quantizer.encode(self.codec.latent(real).flatten(0, 1))
                z = self.codec.quantizer.decode(codes).unflatten(0, (len(real), -1))
            made = self.codec.sound(z)
        parts, of_made = self.listen(made.detach(), real)
        made.backward(of_made)
        return parts

    def step_of_hearing(self, real, heard):
        """The same where codes mean what they did: what is heard shall have the latents of what is to be understood, and
        make its sound."""
        with self.half():
            r = self.codec.latent(heard)
            with torch.no_grad():
                wanted = self.teacher.latent(real)
        levels = torch.full((r.shape[0] * r.shape[1],), self.config.n_codebook, device=self.device)
        z, _, _, commitment = self.codec.quantizer(r.flatten(0, 1), levels)
        with self.half():
            made = self.codec.sound(z.unflatten(0, r.shape[:2]))
        parts, of_made = self.listen(made.detach(), real)
        inner = {"commitment": commitment, "same": losses.relative_error(r, wanted)}
        torch.autograd.backward([sum(WEIGHTS[name] * value for name, value in inner.items()), made], [None, of_made])
        return {**parts, **inner}

    def listen(self, made, real):
        """What is wrong with the sound that was made, and the gradient of that with respect to it. Critics, who are dear,
        hear half of the crops; what they say counts as much as BALANCE has it beside the rest."""
        made.requires_grad_()
        parts = {"mel": self.mel(made, real)}
        if self.listeners:
            parts["heard"] = sum(listener(made, real, self.half) for listener in self.listeners) / len(self.listeners)
        weights = {**WEIGHTS, "heard": HEARD_THROUGH} if self.a.see_through else WEIGHTS
        of_made, = torch.autograd.grad(sum(weights[name] * value for name, value in parts.items()), made)
        if self.has_critics:
            n = max(1, len(real) // 2)
            said, of_critics = self.criticise(real[:n], made[:n].detach())
            parts.update(said)
            share = self.adversarial * BALANCE * of_made[:n].norm() / of_critics.norm().clamp_min(1e-12)
            of_made = torch.cat([of_made[:n] + share * of_critics, of_made[n:]])
        return parts, of_made

    def criticise(self, real, made):
        """Trains the critics; yields what they say, and its gradient with respect to the sound that was made."""
        made.requires_grad_()
        with self.half():
            real_scores, real_layers = self.critics(real)
            made_scores, made_layers = self.critics(made)
        said = {"hinge": losses.hinge_of_critics(real_scores, made_scores),
                "adversarial": losses.adversarial_loss(made_scores),
                "feature": losses.feature_loss(real_layers, made_layers)}
        weights = list(self.critics.parameters())
        gradients = torch.autograd.grad(said["hinge"], weights, retain_graph=True)
        wish = WEIGHTS["adversarial"] * said["adversarial"] + WEIGHTS["feature"] * said["feature"]
        of_made, = torch.autograd.grad(wish, made)
        for weight, gradient in zip(weights, gradients):
            weight.grad = gradient
        apply(self.critics_optimizer, weights, self.usual_of_critics)
        return said, of_made

    def averaged_codec(self):
        codec = Codec(self.config).to(self.device)
        codec.load_state_dict(self.average)
        return codec.eval()


def optimizer(weights, lr, device):
    """AdamW. Its steps are as long for a kernel of a few channels as for one of hundreds, whose weights are much smaller;
    so narrow ones get twice the learning rate and wide ones half of it."""
    groups = {0.5: [], 1.0: [], 2.0: []}
    for weight in weights:
        n_in = weight[0].numel() if weight.dim() > 1 else 256
        groups[2.0 if n_in < 120 else 0.5 if n_in > 800 else 1.0].append(weight)
    on_device = device.type == "cuda"
    fast = dict(fused=True, capturable=True) if on_device else {}
    return torch.optim.AdamW(
        [dict(params=chosen, share=share, lr=torch.tensor(lr, device=device) if on_device else lr)
         for share, chosen in groups.items() if chosen], betas=BETAS, weight_decay=0.0, **fast)


def apply(optimizer, weights, usual):
    """A step with the gradient's norm at most a multiple of the usual one, a running mean on the device; a gradient that is
    not finite counts as none. Yields the norm."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    norm = torch.stack(torch._foreach_norm(gradients)).norm()
    usual.copy_(torch.where(usual > 0, usual, norm))
    torch._foreach_mul_(gradients, (MOST_NORM * usual / norm.clamp_min(1e-12)).clamp_max(1.0))
    for gradient in gradients:
        torch.nan_to_num_(gradient, 0.0, 0.0, 0.0)
    usual.lerp_(torch.nan_to_num(torch.minimum(norm, 3 * usual), 0.0, 0.0, 0.0), 0.02)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm
