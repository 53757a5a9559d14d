"""Hosts Gymnasium and Atari environments for stableaa in a separate process.

Started by stableaa (stableaa/env/gymnasium/), not by people. It inherits two descriptors:

    3  a socket. First it receives a line of JSON that says what to make, and replies with one that says
       what was made or what went wrong. Then it receives a line with the positions in the shared memory.
       After that come one-byte commands, each answered by `k`, or by `e` and a line of JSON.
    4  the shared memory

When stableaa ends, however that happens, the kernel kills this process.
Output to 1 and 2, from Python or C, appears on stableaa's stderr.

Commands: R begins new episodes where `mask` is set; S takes one step in every environment and begins
the next episode where one ended; B takes steps without stableaa and measures them; C closes the
environments. An episode begins with the seed that stableaa left in `seeds`, never on its own.
"""

import sys

# Python searches a script's folder before all others. This script has none, and Python would take it to be /.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import ast  # noqa: E402
import difflib  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import mmap  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402

CONTROL, MEMORY = 3, 4
FRAMES_TOLD = 3  # how many of the calls leading to an exception are reported
PACKAGES = {"cv2": "opencv-python-headless", "ale_py": "ale-py"}


class Refused(Exception):
    """The request cannot be fulfilled. The kind tells stableaa what to say: input, unknown, package, failed."""

    def __init__(self, kind, message, frames=()):
        super().__init__(message)
        self.kind, self.frames = kind, frames


def load(module):
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        package = PACKAGES.get(module, module)
        detail = "" if isinstance(problem, ModuleNotFoundError) else f" ({problem})"
        raise Refused("package", f"{package}{detail}") from None


# ---- Atari -------------------------------------------------------------------------------------------

MAX_FRAMES = 108_000


class AtariGame:
    """One game on ale-py's emulator.

    Only this class supports the authors' protocol; with the others it does what AtariVector does, frame
    by frame, but has the picture in colour. (If a game ends within a step, the last frame seen here is
    the true one; ale-py's vector environment shows an older one.)
    """

    def __init__(self, rom, protocol, variant=()):
        self.rom, self.protocol, self.variant = rom, protocol, variant
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", protocol["sticky"])
        self.load_game()
        self.actions = self.ale.getLegalActionSet() if protocol["all_actions"] else self.ale.getMinimalActionSet()
        self.names = [action.name for action in self.actions]
        self.fires = protocol["fire"] and "FIRE" in self.names and len(self.names) >= 3
        # The last two frames of a step; the picture is their maximum, because sprites flicker.
        self.last_two = np.zeros((2, *self.ale.getScreenDims()), np.uint8)
        self.observation = np.zeros((4, 84, 84), np.uint8)
        self.game_over = True

    def load_game(self):
        """Loads the ROM with its mode and difficulty, which loading resets and the next game uses."""
        self.ale.loadROM(self.rom)
        if "mode" in self.variant:
            self.ale.setMode(self.variant["mode"])
        if "difficulty" in self.variant:
            self.ale.setDifficulty(self.variant["difficulty"])

    def restart(self, seed, new_game):
        """Begins an episode; returns True for a new game, False for the next life of the present one."""
        new_game = new_game or self.game_over
        if new_game:
            self.ale.setInt("random_seed", seed)  # takes effect when a ROM is loaded
            self.load_game()
            self.ale.reset_game()
            self.frames = 0
        if self.protocol["authors"]:
            self.open_as_authors(seed, new_game)
        elif new_game:
            self.open_as_vector(seed)
        self.game_over = False
        self.lives = self.ale.lives()
        return new_game

    def open_as_authors(self, seed, new_game):
        """In every life: 1 to 30 no-op frames (one more in a later life), fire, the action after it."""
        idle = np.random.RandomState(seed).randint(1, self.protocol["no_ops"] + 1) + (not new_game)
        self.act([ale_py.Action.NOOP] * idle)
        if self.fires:
            self.act([self.actions[1]] * 4 + [self.actions[2]] * 4)
        self.see_first()

    def open_as_vector(self, seed):
        """In a new game: fire, then no-ops; 0 to 29 frames in total, but always the fire."""
        drawn = int.from_bytes(np.random.RandomState(seed).bytes(4), "little")  # from a Mersenne twister
        frames = drawn * self.protocol["no_ops"] >> 32
        self.act([ale_py.Action.FIRE] * self.fires + [ale_py.Action.NOOP] * (frames - self.fires))
        self.see_first()

    def act(self, actions):
        for action in actions:
            self.ale.act(action)
            if self.ale.game_over(with_truncation=False):
                self.ale.reset_game()

    def see_first(self):
        self.last_two[:] = self.ale.getScreenGrayscale()
        self.observation[:3] = 0
        self.observation[3] = self.shrink(self.last_two[0])

    def step(self, action):
        authors, lives_end = self.protocol["authors"], self.protocol["lives_end"]
        reward, life_lost = 0.0, False
        for frame in range(4):
            reward += self.ale.act(self.actions[action])
            self.game_over = self.ale.game_over(with_truncation=False)
            life_lost = lives_end and 0 < self.ale.lives() < self.lives
            ends = self.game_over or (authors and life_lost)
            if frame >= 2:
                self.ale.getScreenGrayscale(self.last_two[frame - 2])
            if ends and frame < 3:
                self.last_two[:] = self.ale.getScreenGrayscale()
            if ends:
                break
        self.lives = self.ale.lives()
        self.frames += 4
        self.observation[:3] = self.observation[1:].copy()
        self.observation[3] = self.shrink(self.last_two.max(axis=0))
        terminated = self.game_over or life_lost
        truncated = not self.game_over and self.frames >= MAX_FRAMES
        self.game_over = self.game_over or truncated
        return reward, terminated, truncated

    def shrink(self, screen):
        if not self.protocol["authors"]:
            return cv2.resize(screen, (84, 84), interpolation=cv2.INTER_AREA)
        return cv2.resize(screen, (84, 110), interpolation=cv2.INTER_LINEAR)[18:102]

    def picture(self):
        return self.ale.getScreenRGB()


class AtariVector:
    """Games on ale-py's own vector environment, in C++ with threads. It would begin the next game on its own
    in the step after the end, but is told to do so earlier, with a seed."""

    def __init__(self, rom_name, protocol, count):
        from ale_py.vector_env import AtariVectorEnv

        self.env = AtariVectorEnv(
            rom_name, count, max_num_frames_per_episode=MAX_FRAMES, repeat_action_probability=protocol["sticky"],
            full_action_space=protocol["all_actions"], noop_max=protocol["no_ops"], use_fire_reset=protocol["fire"],
            life_loss_info=protocol["lives_end"], reward_clipping=False)
        self.game_over = np.ones(count, bool)
        self.lives = np.zeros(count, int)

    def restart(self, mask, anew, memory):
        new_game = mask & (self.game_over | anew)
        if new_game.any():
            observations, info = self.env.reset(seed=memory.seeds[new_game], options={"reset_mask": new_game})
            memory.observations[new_game] = observations[new_game]
            self.lives[new_game] = info["lives"][new_game]
        self.game_over[new_game] = False
        memory.new_game[:] = new_game

    def step(self, actions):
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        lives = info["lives"]
        life_lost = (lives > 0) & (lives < self.lives)  # some games never take away the last life
        self.game_over = (terminated & ~life_lost) | truncated
        self.lives[:] = lives
        return observations, rewards, terminated, truncated


# Other names for settings that the protocol decides, and our keys for them.
DECIDED = {
    "repeat_action_probability": "env.sticky", "full_action_space": "env.actions",
    "max_num_frames_per_episode": "env.max_episode_steps", "frameskip": "env.protocol", "noop_max": "env.protocol",
    "use_fire_reset": "env.protocol", "episodic_life": "env.protocol", "life_loss_info": "env.protocol",
}


def atari_variant(kwargs, rom):
    """The mode and difficulty of a game, as in ale-py's constructor; the protocol decides everything else."""
    if not kwargs:
        return {}
    ale = ale_py.ALEInterface()
    ale.loadROM(rom)
    there = {"mode": ale.getAvailableModes(), "difficulty": ale.getAvailableDifficulties()}
    for key, value in kwargs.items():
        if key not in there:
            reason = f"{DECIDED[key]} decides it" if key in DECIDED else "atari/ environments take mode and difficulty"
            raise Refused("input", f"env.kwargs: '{key}' is not taken: {reason}")
        if type(value) is not int or value not in there[key]:
            numbers = ", ".join(map(str, there[key]))
            raise Refused("input", f"env.kwargs: expected a {key} of this game, one of {numbers}, found {value!r}")
    return kwargs


def make_atari(wanted):
    """The games and their description."""
    global ale_py, cv2
    ale_py = load("ale_py")
    roms = load("ale_py.roms")
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    known = {re.sub("_", "", name): name for name in roms.get_all_rom_ids()}
    name = known.get(re.sub("[_-]", "", wanted["name"].lower()))
    if name is None:
        raise Refused("unknown", " ".join(sorted(known.values())))
    protocol, count = wanted["protocol"], wanted["count"]
    rom = roms.get_rom_path(name)
    if rom is None:
        raise Refused("failed", f"ale-py has no ROM of {name}")
    variant = atari_variant(wanted["kwargs"], rom)
    needs_own = protocol["authors"] or wanted["render"] or variant  # the vector environment has only one variant
    if needs_own:
        cv2 = load("cv2")
        cv2.setNumThreads(1)
        games = Separate([AtariGame(rom, protocol, variant) for _ in range(count)])
        names = games.games[0].names
    else:
        load("gymnasium")
        games = AtariVector(name, protocol, count)
        ale = ale_py.ALEInterface()
        ale.loadROM(rom)
        actions = ale.getLegalActionSet() if protocol["all_actions"] else ale.getMinimalActionSet()
        names = [action.name for action in actions]
    return games, {
        "name": name,
        "observation": {"type": "uint8", "shape": [4, 84, 84], "low": [0], "high": [255]},
        "action": {"n": len(names)},
        "action_names": [action.lower() for action in names],
        "channel_axis": 0,
        "is_stack": True,
        "noop": names.index("NOOP") if "NOOP" in names else None,
        "max_episode_steps": MAX_FRAMES // 4,
        "frames_per_second": 15,
        "picture": list(games.picture_size()) if wanted["render"] else None,
    }


# ---- Gymnasium ---------------------------------------------------------------------------------------


# Parameters of gymnasium.make that are not passed to constructors.
NOT_FOR_CONSTRUCTORS = {
    "id": "the environment's id says it", "render_mode": "it is 'rgb_array' where pictures are needed",
    "max_episode_steps": "env.max_episode_steps decides it", "disable_env_checker": "there is no checker",
}
OWN_WRAPPERS = "gymnasium.wrappers"
NEED_PICTURES = ("AddRenderObservation", "RecordVideo")  # of Gymnasium's wrappers


def not_imported(name, problem):
    folder = ", in the current folder" if ":" in name else ""
    return Refused("failed", f"{problem} ({searched(folder)})", frames_of(problem))


def searched(folder):
    return f"looked for in the packages of {sys.executable}{folder} and in PYTHONPATH"


def search_current_folder():
    """Only if a module is named, and last, so that nothing there is mistaken for something else."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def not_installed(name, problem):
    """A package is missing, as one of an environment may be: no wrong option."""
    return Refused("failed", f"env.wrappers: {name}: {problem}")


def construct(name, render, kwargs):
    """An environment. Constructors need not know render_mode, so it is passed only if pictures are needed."""
    mode = {"render_mode": "rgb_array"} if render else {}
    try:
        return gymnasium.make(name, disable_env_checker=True, **mode, **kwargs)
    except gymnasium.error.DependencyNotInstalled as problem:
        raise Refused("failed", str(problem)) from None
    except gymnasium.error.Error as problem:
        raise Refused("input", str(problem)) from None
    except ModuleNotFoundError as problem:
        raise not_imported(name, problem) from None
    except (Exception, SystemExit) as problem:
        if render and "unexpected keyword argument 'render_mode'" in str(problem):
            raise Refused("input", "it cannot be drawn: its constructor takes no render_mode") from None
        if not kwargs:
            raise
        reason = describe(problem.__cause__ or problem)  # gymnasium wraps a TypeError in its own
        raise Refused("input", f"it cannot be made with env.kwargs {json.dumps(kwargs)}: {reason}",
                      frames_of(problem)) from None


def refused_wrapper(name, reason, problem=None):
    return Refused("input", f"env.wrappers: {name}{reason}", () if problem is None else frames_of(problem))


class Wrapping:
    """One of env.wrappers: what is called with an environment, and with which arguments."""

    def __init__(self, name, arguments):
        self.name = name
        self.module, _, self.attribute = name.rpartition(".")
        self.args, self.kwargs = self.parse(arguments)
        self.make = self.find()

    def parse(self, arguments):
        try:
            call = ast.parse(f"f{arguments}", mode="eval").body
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                raise ValueError("not the arguments of one call")
            names = [keyword.arg for keyword in call.keywords]
            if None in names or len(set(names)) < len(names):
                raise ValueError("an argument without a name of its own")
            return ([ast.literal_eval(value) for value in call.args],
                    {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords})
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            raise refused_wrapper(self.name, ": expected arguments as in Python, made of literals, such as "
                                  f"(stack_size=4, padding_type='zero'), found {arguments}") from None

    def find(self):
        if self.module == OWN_WRAPPERS:
            return self.find_own()
        search_current_folder()
        try:
            module = importlib.import_module(self.module)
        except (Exception, SystemExit) as problem:
            where = f" ({searched(', in the current folder')})" if isinstance(problem, ModuleNotFoundError) else ""
            raise refused_wrapper(self.name, f" cannot be imported: {describe(problem)}{where}", problem) from None
        found = getattr(module, self.attribute, None)
        if not callable(found):
            near = suggestion(self.attribute, wrapper_names(module), f"{self.module}.")
            raise refused_wrapper(self.name, f": '{self.module}' has no class '{self.attribute}'{near}")
        return found

    def find_own(self):
        """A class of gymnasium.wrappers, and nothing else that its name may lead to."""
        try:
            found = getattr(gymnasium.wrappers, self.attribute)
        except gymnasium.error.DependencyNotInstalled as problem:
            raise not_installed(self.name, problem) from None
        except (AttributeError, ImportError, gymnasium.error.Error) as problem:
            if not isinstance(problem, AttributeError):
                raise refused_wrapper(self.name, f" cannot be imported: {describe(problem)}") from None
            found = None
        if not (isinstance(found, type) and issubclass(found, gymnasium.Wrapper)):
            near = suggestion(self.attribute, gymnasium.wrappers.__all__)
            hint = near or "; one of your own is named with its module, my_module.MyWrapper"
            raise refused_wrapper(self.name, f": Gymnasium has no such wrapper{hint}")
        return found

    def needs_pictures(self):
        return self.module == OWN_WRAPPERS and self.attribute in NEED_PICTURES

    def wrap(self, env):
        try:
            wrapped = self.make(env, *self.args, **self.kwargs)
            if not isinstance(wrapped, gymnasium.Wrapper):
                raise refused_wrapper(self.name, ": expected a gymnasium.Wrapper from it, found an object of type "
                                      f"{type(wrapped).__name__}")
            wrapped.observation_space, wrapped.action_space
        except Refused:
            raise
        except gymnasium.error.DependencyNotInstalled as problem:
            raise not_installed(self.name, problem) from None
        except (Exception, SystemExit) as problem:
            raise refused_wrapper(self.name, f" raised {describe(problem)}", problem) from None
        return wrapped


def wrapper_names(module):
    return [name for name, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, gymnasium.Wrapper)]


def suggestion(name, names, prefix=""):
    """'; did you mean ...?' for names that begin alike or are spelt alike."""
    lower = {known.lower(): known for known in names}
    near = [lower[known] for known in lower if len(name) >= 4 and known.startswith(name.lower())]
    near = near or [lower[known] for known in difflib.get_close_matches(name.lower(), lower, 2)]
    return f"; did you mean '{prefix}{near[0]}'?" if near else ""


class GymnasiumGame:
    def __init__(self, name, render, kwargs, wrappings):
        env = construct(name, render, kwargs)
        self.limits = [steps_limit(env)]
        for wrapping in wrappings:
            env = wrapping.wrap(env)
        self.limits.append(steps_limit(env))
        self.is_stack = bool(wrappings) and isinstance(env, gymnasium.wrappers.FrameStackObservation)
        if not isinstance(env.observation_space, gymnasium.spaces.Box) or not env.observation_space.shape:
            try:
                env = gymnasium.wrappers.FlattenObservation(env)
            except NotImplementedError:
                pass
        self.check(env.observation_space, env.action_space)
        self.env, self.shape = env, env.observation_space.shape
        self.to_action = action_maker(env.action_space)

    @staticmethod
    def check(observation, action):
        spaces = gymnasium.spaces
        kind = observation.dtype.kind if isinstance(observation, spaces.Box) else "none"
        if kind not in "fuib" or 0 in observation.shape:
            raise Refused("input", f"observation space {observation}; supported are Box of numbers with at least one "
                          "element, and what Gymnasium flattens to one: Discrete (one-hot), MultiDiscrete, "
                          "MultiBinary, Tuple and Dict of these")
        is_box = (isinstance(action, spaces.Box) and action.dtype.kind in "fui" and action.shape
                  and 0 not in action.shape)
        is_discrete = isinstance(action, spaces.Discrete) and action.n < 2**31
        if not is_discrete and not is_box:
            raise Refused("input", f"action space {action}; supported are Discrete with fewer than 2**31 actions, and "
                          "Box of numbers with at least one axis")

    def restart(self, seed, new_game):
        self.see(self.env.reset(seed=int(seed))[0])
        return True

    def step(self, action):
        observation, reward, terminated, truncated, _ = self.env.step(self.to_action(action))
        self.see(observation)
        return reward, terminated, truncated

    def see(self, observation):
        """Checks the shape: NumPy would broadcast an array that is too small."""
        if np.shape(observation) != self.shape:
            raise ValueError(f"an observation of shape {np.shape(observation)} where its space has {self.shape}")
        self.observation = observation

    def picture(self):
        return self.env.render()

    def close(self):
        self.env.close()


def action_maker(space):
    """A function that makes an action of the space from what is in the shared memory."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return lambda action: int(action + space.start)
    if space.dtype == np.float32:
        return lambda action: action.reshape(space.shape).copy()
    round_to = np.rint if space.dtype.kind in "ui" else np.asarray
    low, high = bounds_within(space)
    if (low < high).all():
        return lambda action: round_to(action.reshape(space.shape)).astype(space.dtype)
    fixed = low >= high

    def make(action):
        made = round_to(action.reshape(space.shape)).astype(space.dtype)
        made[fixed] = space.low[fixed]  # no float may lie between the bounds
        return made

    return make


def steps_limit(env):
    return (env.spec.max_episode_steps if env.spec else None) or 0


def import_module_of(name):
    """Imports the part before the colon."""
    module, colon, rest = name.rpartition(":")
    if ":" in module or (colon and not (module and rest)):
        raise Refused("input", f"'{name}' is not of the form Id-v0 or module:Id-v0")
    if not module:
        return
    search_current_folder()
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as problem:
        raise not_imported(name, problem) from None


def no_opengl(problem):
    return Refused("failed", f"MuJoCo cannot draw ({describe(problem)}); without a screen it needs MUJOCO_GL=egl and "
                   "Debian's package libegl1, or MUJOCO_GL=osmesa and libosmesa6")


def prepare_mujoco(name, pictures):
    """Before MuJoCo is imported: chooses how it draws without a screen, and where its warnings go. It would write
    them to MUJOCO_LOG.TXT in the current folder, for each environment again."""
    if pictures and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("MUJOCO_GL", "egl")
    entry = getattr(gymnasium.registry.get(name), "entry_point", None)
    if not str(entry).startswith("gymnasium.envs.mujoco"):
        return
    try:
        mujoco = importlib.import_module("mujoco")
    except ModuleNotFoundError:
        return  # gymnasium.make says so
    except Exception as problem:  # importing it already finds what MUJOCO_GL names
        raise no_opengl(problem) from None
    told = set()

    def tell(warning):
        if warning not in told:
            told.add(warning)
            print(f"MuJoCo warns: {warning}", file=sys.stderr)

    mujoco.set_mju_user_warning(tell)


def make_gymnasium(wanted):
    global gymnasium
    gymnasium = load("gymnasium")
    name, render, kwargs = wanted["name"], wanted["render"], wanted["kwargs"]
    if name.startswith("ALE/"):
        gymnasium.register_envs(load("ale_py"))
    import_module_of(name)
    pictures = kwargs.get("render_mode") == "rgb_array"  # for a wrapper
    if pictures:
        kwargs = {key: value for key, value in kwargs.items() if key != "render_mode"}
    for key in kwargs.keys() & NOT_FOR_CONSTRUCTORS.keys():
        raise Refused("input", f"env.kwargs: '{key}' is not taken: {NOT_FOR_CONSTRUCTORS[key]}")
    wrappings = [Wrapping(one["name"], one["arguments"]) for one in wanted["wrappers"]]
    pictures = render or pictures or any(one.needs_pictures() for one in wrappings)
    prepare_mujoco(name, pictures)
    games = Separate([GymnasiumGame(name, pictures, kwargs, wrappings) for _ in range(wanted["count"])],
                     bool(wrappings))
    env = games.games[0].env
    observation, action = env.observation_space, env.action_space
    names, noop = None, None
    if isinstance(action, gymnasium.spaces.Discrete):
        if hasattr(env.unwrapped, "get_action_meanings"):
            names = [str(meaning).lower() for meaning in env.unwrapped.get_action_meanings()]
            noop = names.index("noop") if "noop" in names else None
    elif (action.low <= 0).all() and (action.high >= 0).all():
        noop = 0
    return games, {
        "name": name,
        "observation": box(observation),
        "action": {"n": int(action.n)} if isinstance(action, gymnasium.spaces.Discrete) else action_box(action),
        "action_names": names,
        "channel_axis": channel_axis(observation, games.games[0].is_stack),
        "is_stack": games.games[0].is_stack,
        "noop": noop,
        "max_episode_steps": min(filter(None, games.games[0].limits), default=0),
        "frames_per_second": usual_speed(env.metadata.get("render_fps")),
        "picture": list(games.picture_size()) if render else None,
    }


def channel_axis(space, is_stack):
    """Which axis of an image counts its channels: the last if it is short, as colours are; otherwise the shorter
    of the first and the last. A stack of images has one more axis, the first. An image of two axes has one channel;
    the axis is then the one after them. -1 for what is not an image."""
    shape = space.shape
    if is_stack and len(shape) < 4:
        return 0 if len(shape) == 3 else -1
    if len(shape) == 4:
        return 1 + channel_axis_of_three(shape[1:])
    if len(shape) == 3:
        return channel_axis_of_three(shape)
    # Stacked vectors have two axes as well. Pixels are many and all have the same bounds.
    same = (space.low == space.low.flat[0]).all() and (space.high == space.high.flat[0]).all()
    return 2 if len(shape) == 2 and min(shape) >= 8 and same else -1


def channel_axis_of_three(shape):
    return 2 if shape[2] <= 4 or shape[2] <= shape[0] else 0


def usual_speed(frames_per_second):
    """A usable frame rate, whatever the environment says."""
    try:
        frames_per_second = float(frames_per_second)
    except (TypeError, ValueError):
        return 15.0
    return min(max(frames_per_second, 1.0), 1000.0) if math.isfinite(frames_per_second) else 15.0


def box(space):
    """Bytes stay bytes; all other numbers become floats."""
    return described("uint8" if space.dtype == np.uint8 else "float", space.shape, space.low, space.high)


def action_box(space):
    return described("float", space.shape, *bounds_within(space))


def described(kind, shape, low, high):
    def bounds(values):
        values = np.asarray(values, np.float64).ravel()
        if (values == values[0]).all():
            values = values[:1]
        return [float(v) if math.isfinite(v) else None for v in values]

    return {"type": kind, "shape": list(shape), "low": bounds(low), "high": bounds(high)}


def bounds_within(space):
    """The bounds of a box as floats that are rounded inwards, so that every float between them is in the box. If no
    float is, both are the one nearest to the lower bound."""
    up, down = np.float32(math.inf), np.float32(-math.inf)
    with np.errstate(over="ignore"):
        low, high = space.low.astype(np.float32), space.high.astype(np.float32)
    most = np.finfo(np.float32).max
    nearest = np.where(np.isfinite(space.low), np.clip(low, -most, most), low)
    too_low, too_high = low < space.low, high > space.high
    if space.dtype.kind in "ui":  # NumPy would compare as float64, which does not hold all integers of 64 bits
        exact = np.vectorize(int, otypes=[object])
        too_low = (exact(low) < exact(space.low)).astype(bool)
        too_high = (exact(high) > exact(space.high)).astype(bool)
    low = np.where(too_low, np.nextafter(low, up), low)
    high = np.where(too_high, np.nextafter(high, down), high)
    return np.where(low > high, nearest, low), np.where(low > high, nearest, high)


# ---- Both --------------------------------------------------------------------------------------------


class Separate:
    """Games that are stepped one after another."""

    def __init__(self, games, is_wrapped=False):
        self.games = games
        self.untried = is_wrapped  # no episode has begun with these wrappers

    def restart(self, mask, anew, memory):
        memory.new_game[:] = 0
        for i in np.flatnonzero(mask):
            memory.new_game[i] = self.begin(self.games[i], int(memory.seeds[i]), bool(anew[i]))
            with np.errstate(over="ignore"):  # as in step()
                memory.observations[i] = self.games[i].observation

    def begin(self, game, seed, anew):
        """Wrappers with which not even the first episode begins are a wrong option, not a failure of the work."""
        try:
            new_game = game.restart(seed, anew)
        except (Exception, SystemExit) as problem:
            if not self.untried:
                raise
            if isinstance(problem, gymnasium.error.DependencyNotInstalled):
                raise Refused("failed", str(problem)) from None
            raise Refused("input", f"no episode can begin with env.wrappers: {describe(problem)}",
                          frames_of(problem)) from None
        self.untried = False
        return new_game

    def step(self, actions):
        results = [game.step(action) for game, action in zip(self.games, actions)]
        return [game.observation for game in self.games], *zip(*results)

    def picture_size(self):
        self.begin(self.games[0], 0, True)
        picture = self.first_picture()
        is_bytes = isinstance(picture, np.ndarray) and picture.dtype == np.uint8
        if not is_bytes or picture.shape[2:] != (3,) or picture.size == 0:
            raise Refused("input", "it cannot be drawn: its render() gives no bytes in rows, columns and 3 colours")
        return picture.shape[:2]

    def first_picture(self):
        try:
            return self.games[0].picture()
        except Exception as problem:
            if "mujoco" not in sys.modules:
                raise
            sys.unraisablehook = lambda _: None  # what Gymnasium had begun to make fails once more when it goes
            raise no_opengl(problem) from None

    def close(self):
        """Closes all of them, even if one raises."""
        problem = None
        for game in self.games:
            try:
                game.close()
            except (Exception, SystemExit) as error:
                problem = error
        if problem:
            raise problem


class SharedMemory:
    """The arrays that stableaa and this process share, limited to this process's environments."""

    def __init__(self, layout, spec):
        block = mmap.mmap(MEMORY, layout["size"])
        self.owner = os.getpid()

        def view(name, dtype, shape=()):
            if name not in layout["offsets"]:
                return None
            whole = np.ndarray((layout["total"], *shape), dtype, block, layout["offsets"][name])
            return whole[layout["begin"]:layout["begin"] + layout["count"]]

        action = spec["action"]
        self.choices = action.get("n")
        self.actions = view("actions", np.int32) if "n" in action else view("actions", np.float32, action["shape"])
        self.mask = view("mask", np.bool_)
        self.anew = view("anew", np.bool_)
        self.seeds = view("seeds", np.int64)
        self.rewards = view("rewards", np.float64)
        self.terminated = view("terminated", np.bool_)
        self.truncated = view("truncated", np.bool_)
        self.new_game = view("new_game", np.bool_)
        self.bench = view("bench", np.float64)
        element = np.uint8 if spec["observation"]["type"] == "uint8" else np.float32
        self.observations = view("observations", element, spec["observation"]["shape"])
        self.final_observations = view("final_observations", element, spec["observation"]["shape"])
        picture = (*(spec["picture"] or ()), 3)
        self.pictures = view("pictures", np.uint8, picture)
        self.final_pictures = view("final_pictures", np.uint8, picture)


def draw(games, pictures, which):
    if pictures is not None:
        for i in np.flatnonzero(which):
            picture = games.games[i].picture()
            if np.shape(picture) != pictures.shape[1:]:
                raise ValueError(f"a picture of shape {np.shape(picture)} after ones of shape {pictures.shape[1:]}")
            pictures[i] = picture


def restart(games, memory):
    games.restart(memory.mask, memory.anew, memory)
    draw(games, memory.pictures, memory.mask)


def step(games, memory):
    """`anew` marks the environments whose episode stableaa cuts off after this step."""
    results = games.step(memory.actions)
    if os.getpid() != memory.owner:
        os._exit(0)  # a copy that the environment forked and forgot
    with np.errstate(over="ignore"):  # stableaa says what is not finite
        memory.observations[:], memory.rewards[:], memory.terminated[:], memory.truncated[:] = results
    memory.truncated |= memory.anew
    ended = memory.terminated | memory.truncated
    memory.new_game.fill(0)
    if np.count_nonzero(ended):
        memory.final_observations[ended] = memory.observations[ended]
        draw(games, memory.final_pictures, ended)
        games.restart(ended, memory.anew, memory)
    if memory.pictures is not None:
        draw(games, memory.pictures, np.ones_like(ended))


def bench(games, memory):
    """Takes bench[0] steps, with random actions if they are discrete, otherwise those in the memory. Sets
    bench[0] to the seconds taken."""
    count, choices = int(memory.bench[0]), memory.choices
    random, actions = np.random.default_rng(count), memory.actions
    begin = time.perf_counter()
    for _ in range(count):
        if choices:
            actions = random.integers(choices, size=len(actions), dtype=np.int32)
        _, _, terminated, truncated = games.step(actions)
        ended = np.logical_or(terminated, truncated)
        if ended.any():
            games.restart(ended, memory.anew, memory)
    memory.bench[0] = time.perf_counter() - begin


def close(games, _):
    games.close()


def say(message):
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(CONTROL, data):]


def hear():
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(CONTROL, 1)  # no more: a command may follow
        if not piece:
            sys.exit(0)
        line += piece
    return json.loads(line)


def clean(text):
    """One line that can be encoded."""
    return " ".join(text.split()).encode("utf-8", "replace").decode()


def describe(error):
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def is_machinery(file):
    return file in (__file__, importlib.__file__) or file.startswith("<frozen ")


def is_wrapper(file):
    """Whether the file belongs to Gymnasium's code between the worker and an environment."""
    folder = os.path.dirname(sys.modules["gymnasium"].__file__) if "gymnasium" in sys.modules else None
    return bool(folder) and file.startswith(
        (f"{folder}/wrappers/", f"{folder}/core.py", f"{folder}/envs/registration.py"))


def frames_of(error):
    """Where an exception was raised, and the calls that led there: file:line in function, innermost first. Only
    calls in the environment, or else the last one in Gymnasium, which rejected what the environment returned."""
    last = []
    for one in [error] if error.__cause__ is None else [error, error.__cause__]:
        calls = [frame for frame in traceback.extract_tb(one.__traceback__) if not is_machinery(frame.filename)]
        frames = [frame for frame in calls if not is_wrapper(frame.filename)]
        if frames:
            break
        last = last or calls[-1:]
    told = (frames or last)[::-1][:FRAMES_TOLD]
    return [clean(f"{shown(frame.filename)}:{frame.lineno} in {frame.name}") for frame in told]


def shown(file, most=100):
    return file if len(file) <= most else "..." + file[-most:]


def problem_of(error):
    if isinstance(error, Refused):
        return {"error": error.kind, "message": clean(str(error)), "frames": list(error.frames)}
    return {"error": "failed", "message": clean(describe(error)), "frames": frames_of(error)}


def stay_apart():
    """Children that an environment starts or forks must not answer for this process or hide that it has
    ended."""
    os.set_inheritable(CONTROL, False)
    null = os.open(os.devnull, os.O_RDWR)
    os.register_at_fork(after_in_child=lambda: os.dup2(null, CONTROL, False))


def flush():
    """Flushes what C code has printed into its own buffer."""
    try:
        importlib.import_module("ctypes").CDLL(None).fflush(None)
    except Exception:
        pass


def main():
    global np
    owner = os.getpid()
    stay_apart()
    wanted = hear()
    try:
        np = load("numpy")
        make = make_atari if wanted["family"] == "atari" else make_gymnasium
        games, spec = make(wanted)
        say(spec)
    except (Exception, SystemExit) as error:
        if os.getpid() != owner:
            raise
        flush()
        say(problem_of(error))
        return
    memory = SharedMemory(hear(), spec)
    commands = {b"R": restart, b"S": step, b"B": bench, b"C": close}
    while command := os.read(CONTROL, 1):
        try:
            commands[command](games, memory)
        except (Exception, SystemExit) as error:
            if os.getpid() != owner:
                raise  # in a copy that the environment forked
            flush()
            os.write(CONTROL, b"e")
            say(problem_of(error))
        else:
            if command == b"C":
                flush()
            os.write(CONTROL, b"k")


if __name__ == "__main__":
    main()
