"""Opens HTML pages in Chromium and tells what is wrong with them.

Usage: report_page_check.py [--screenshots DIR] [--browser PROGRAM] PAGE.html...
       report_page_check.py --self-test

Each page is opened as a phone shows it (390 px wide) and on a desktop (1280 px), light and dark,
and must there
- ask for nothing but itself and data: URIs; whatever else it asks for is refused;
- leave no error or warning in the console;
- have every picture, drawing and video complete and visible once all <details> are open (in one of
  the two colour schemes, so that a page may have a picture for each);
- be no wider than the window;
- show whole tables on the desktop, and their first three columns on the phone, without scrolling;
- have text that stands out from what is behind it: a contrast of 4.5 : 1, of large text 3 : 1 (the
  Web Content Accessibility Guidelines' level AA);
and its links to places in it and to files beside it must lead somewhere.

Exits with 0 if all is well, 1 if not, 77 (skipped) where there is no Chromium (Debian: chromium),
which in CI (CI=true) is a failure too. Needs nothing but Python's standard library: commands go to
the browser by the DevTools protocol over two pipes, as JSON that ends with a zero byte.
"""

import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import sys
import tempfile
import time
import urllib.parse
from dataclasses import dataclass

SECONDS = 60  # for each step of the browser, on a busy machine
VIEWS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]
PHONE = 600  # narrower windows are phones
HIGHEST_SCREENSHOT = 16000  # pixels; browsers do not draw larger pictures

FLAGS = [
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
    "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
    "--disable-extensions", "--disable-sync", "--mute-audio",
    # Names resolve to nothing, even for what the protocol does not show, such as preconnections.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


class CheckFailed(Exception):
    """The check itself could not be done."""


class Browser:
    """A Chromium of our own, with a profile that is thrown away."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="report-page-",
                                                   ignore_cleanup_errors=True)
        self.log = pathlib.Path(self.profile.name, "stderr")
        self.next_id = 0
        self.buffer = bytearray()
        commands, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()
        self.pid = os.posix_spawn(
            program, [program, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"],
            os.environ, setpgroup=0,
            file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                          (os.POSIX_SPAWN_OPEN, 2, self.log, os.O_WRONLY | os.O_CREAT, 0o600),
                          *moves({commands: 3, answers: 4})])
        os.close(commands)
        os.close(answers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close", seconds=10)
        except CheckFailed:
            pass
        os.close(self.to_browser)
        os.close(self.from_browser)
        if not self.ends_within(10):
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.profile.cleanup()

    def ends_within(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitpid(self.pid, os.WNOHANG)[0] != 0:
                return True
            time.sleep(0.02)
        return False

    def send(self, method, parameters=None, session=None):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = memoryview(json.dumps(message).encode() + b"\0")
        try:
            while data:
                data = data[os.write(self.to_browser, data):]
        except BrokenPipeError:
            raise CheckFailed(f"the browser has ended: {self.last_words()}") from None
        return self.next_id

    def receive(self, deadline, awaited):
        """The next message."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise CheckFailed(f"no answer from the browser in time: {awaited}")
            data = os.read(self.from_browser, 1 << 20)
            if not data:
                raise CheckFailed(f"the browser has ended: {self.last_words()}")
            self.buffer += data
        end = self.buffer.index(b"\0")
        message = json.loads(self.buffer[:end])
        del self.buffer[:end + 1]
        return message

    def last_words(self):
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(lines[-5:]) or "it said nothing"

    def call(self, method, parameters=None, session=None, seconds=SECONDS, on_event=None):
        """The result of a command; events that come before it go to on_event."""
        number = self.send(method, parameters, session)
        deadline = time.monotonic() + seconds
        while True:
            message = self.receive(deadline, method)
            if message.get("id") == number:
                if "error" in message:
                    raise CheckFailed(f"{method}: {message['error'].get('message')}")
                return message["result"]
            if on_event and "method" in message:
                on_event(message)


def moves(wanted):
    """File actions that put descriptors at their places, by way of places that none of them has."""
    spare = max(*wanted, *wanted.values()) + 1
    to_spare = [(os.POSIX_SPAWN_DUP2, source, spare + i) for i, source in enumerate(wanted)]
    to_place = [(os.POSIX_SPAWN_DUP2, spare + i, place) for i, place in enumerate(wanted.values())]
    rest = [(os.POSIX_SPAWN_CLOSE, spare + i) for i in range(len(wanted))]
    return to_spare + to_place + rest


# ---- What runs in the page ----

# Opens and loads everything, like a reader going through the whole page.
PREPARE = """(async () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const image of document.images) image.loading = 'eager';
  const waits = [...document.images].map(image => image.decode().catch(() => {}));
  for (const video of document.querySelectorAll('video')) {
    if (video.readyState >= 2) continue;
    waits.push(new Promise(done => {
      video.addEventListener('loadeddata', done);
      video.addEventListener('error', done);
      for (const source of video.querySelectorAll('source')) source.addEventListener('error', done);
      setTimeout(done, 10000);
      video.preload = 'auto';
      video.load();
    }));
  }
  await Promise.all(waits);
  await document.fonts.ready;
  for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
    scrollTo({top: y, behavior: 'instant'});
    await new Promise(requestAnimationFrame);
  }
  scrollTo({top: 0, behavior: 'instant'});
})()"""

# What is visible. WIDTH, PHONE and SCHEME are substituted.
MEASURE = """(() => {
  const width = WIDTH, problems = [], hidden = [];
  if (!matchMedia('(prefers-color-scheme: SCHEME)').matches) problems.push('is not SCHEME');

  const shorten = (text, length) => text.length > length ? text.slice(0, length) + '…' : text;
  const name = element => {
    let text = element.tagName.toLowerCase();
    if (element.id) text += '#' + element.id;
    else if (element.classList.length) text += '.' + [...element.classList].join('.');
    const said = element.getAttribute('alt') || element.textContent.trim().replace(/\\s+/g, ' ');
    const source = element.getAttribute('src');
    if (said) text += ` "${shorten(said, 40)}"`;
    if (source) text += ` (${shorten(source, 40)})`;
    return `<${text}>`;
  };

  // -- pictures, drawings, videos
  const isShown = element => {
    element.scrollIntoView({block: 'center', behavior: 'instant'});
    const box = element.getBoundingClientRect();
    return box.width >= 1 && box.height >= 1 && box.bottom > 0 && box.top < innerHeight &&
        box.right > 0 && box.left < innerWidth &&
        element.checkVisibility({opacityProperty: true, visibilityProperty: true});
  };
  const isSymbolsOnly = svg => svg.children.length > 0 && [...svg.children].every(
      child => ['defs', 'symbol', 'style', 'title', 'desc'].includes(child.tagName));
  const figures = [...document.querySelectorAll('img, svg, video')].filter(
      figure => !figure.ownerSVGElement && !(figure.tagName === 'svg' && isSymbolsOnly(figure)));
  figures.forEach((figure, index) => {
    const say = words => problems.push(`${name(figure)} ${words}`);
    if (figure.tagName === 'IMG') {
      if (!figure.complete || figure.naturalWidth === 0 || figure.naturalHeight === 0) {
        say('is no picture that can be shown');
      }
    } else if (figure.tagName === 'VIDEO') {
      if (figure.readyState < 2 || figure.videoWidth === 0) {
        say(`is no video that can be played${figure.error ? ': ' + figure.error.message : ''}`);
      }
    } else {
      const box = figure.getBBox();
      if (box.width === 0 && box.height === 0) say('is a drawing with nothing in it');
    }
    if (!isShown(figure)) hidden.push([index, `${name(figure)} cannot be seen`]);
  });
  scrollTo({top: 0, left: 0, behavior: 'instant'});

  // -- width
  const root = document.documentElement;
  const scrolls = element => /auto|scroll|hidden|clip/.test(getComputedStyle(element).overflowX);
  const isInsideScrolling = element => {
    for (let e = element.parentElement; e && e !== document.body; e = e.parentElement) {
      if (scrolls(e)) return true;
    }
    return false;
  };
  const tooWide = [...document.body.querySelectorAll('*')]
      .filter(element => !element.ownerSVGElement)
      .map(element => [element.getBoundingClientRect().right + scrollX, element])
      .filter(([right, element]) => right > width + 0.5 && !isInsideScrolling(element))
      .sort((a, b) => b[0] - a[0]).slice(0, 5)
      .map(([right, element]) => `${name(element)} to ${Math.round(right)}`).join(', ');
  if (root.clientWidth > width) {
    problems.push(`is laid out ${root.clientWidth} px wide in a window of ${width} ` +
                  '(<meta name="viewport" content="width=device-width"> is missing?)');
  } else if (root.scrollWidth > width) {
    problems.push(`is ${root.scrollWidth} px wide in a window of ${width}: ${tooWide}`);
  } else if (tooWide && (scrolls(document.body) || scrolls(root))) {
    problems.push(`is cut off at ${width} px: ${tooWide}`);
  }

  // -- tables
  for (const table of document.querySelectorAll('table')) {
    let box = table.parentElement;
    while (box !== root && !scrolls(box)) box = box.parentElement;
    const right = box === root ? width : box.getBoundingClientRect().right;
    const cells = [...(table.rows[0]?.cells ?? [])].slice(0, width < PHONE ? 3 : Infinity);
    const cut = cells.find(cell => cell.getBoundingClientRect().right > right + 0.5);
    if (cut && box !== root) problems.push(`column ${name(cut)} of a table is cut off`);
  }

  // -- contrast
  const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1})
      .getContext('2d', {willReadFrequently: true});
  const colours = new Map();
  const rgba = text => {  // any colour of CSS, by painting it
    if (!colours.has(text)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = text;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      colours.set(text, [r, g, b, a / 255]);
    }
    return colours.get(text);
  };
  const over = (top, ground) => [0, 1, 2].map(i => top[3] * top[i] + (1 - top[3]) * ground[i]);
  const luminance = colour => {
    const [r, g, b] = colour.map(
        v => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const probe = document.body.appendChild(document.createElement('div'));
  probe.style.cssText = 'background-color: Canvas';
  const canvasColour = rgba(getComputedStyle(probe).backgroundColor);
  probe.remove();
  // What is behind the text of an element; nothing if that is a picture.
  const groundOf = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.backgroundImage !== 'none') return null;
      layers.push(rgba(style.backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reduceRight((ground, layer) => over(layer, ground), canvasColour.slice(0, 3));
  };
  const opacityOf = element => element ?
      getComputedStyle(element).opacity * opacityOf(element.parentElement) : 1;
  const faint = new Map();  // by colours, so that a table is one problem and not a hundred
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (const seen = new Set(); walker.nextNode();) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(element) || element.closest('svg') ||
        !element.checkVisibility({visibilityProperty: true})) continue;
    seen.add(element);
    const style = getComputedStyle(element), ground = groundOf(element);
    if (ground === null) continue;
    ++texts;
    const [r, g, b, a] = rgba(style.color);
    const colour = over([r, g, b, a * opacityOf(element)], ground);
    const size = parseFloat(style.fontSize);
    const wanted = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    const ratio = contrast(colour, ground);
    if (ratio >= wanted) continue;
    const key = `${colour} on ${ground}`;
    if (!faint.has(key)) {
      const text = rgb => `rgb(${rgb.map(Math.round)})`;
      faint.set(key, `${name(element)} has a contrast of ${ratio.toFixed(2)}, less than ` +
                `${wanted} (${text(colour)} on ${text(ground)})`);
    }
  }
  problems.push(...faint.values());

  // -- links
  const links = [...document.querySelectorAll('a[href]')].map(link => link.getAttribute('href'));
  for (const link of new Set(links)) {
    if (link.length > 1 && link.startsWith('#') &&
        !document.getElementById(decodeURIComponent(link.slice(1)))) {
      problems.push(`links to ${link}, which is nowhere in it`);
    }
  }
  return {problems, hidden, texts, figures: figures.length, height: root.scrollHeight,
          links: [...new Set(links)].filter(link => !link.startsWith('#'))};
})()"""


# ---- One page ----


@dataclass
class Seen:
    """What a page was like in one view."""

    problems: list
    hidden: dict  # invisible figures, by number
    figures: int
    texts: int
    links: list


class View:
    """A page in a window of its own."""

    def __init__(self, browser, url, width, scheme):
        self.browser = browser
        self.url = url
        self.width = width
        self.scheme = scheme
        self.problems = []
        self.refused = set()
        self.loaded = False
        target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget",
                                    {"targetId": target, "flatten": True})["sessionId"]

    def call(self, method, parameters=None):
        return self.browser.call(method, parameters, self.session, on_event=self.on_event)

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", {"expression": script, "returnByValue": True,
                                                "awaitPromise": True})
        if "exceptionDetails" in answer:
            error = exception_text(answer["exceptionDetails"])
            raise CheckFailed(f"the check's own script: {error}")
        return answer["result"].get("value")

    def open(self):
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
        phone = self.width < PHONE
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": self.width, "height": 844 if phone else 800, "mobile": phone,
                   "deviceScaleFactor": 1})
        self.call("Emulation.setTouchEmulationEnabled", {"enabled": phone})
        self.call("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": self.scheme}]})
        navigation = self.call("Page.navigate", {"url": self.url})
        if "errorText" in navigation:
            raise CheckFailed(f"{self.url}: {navigation['errorText']}")
        deadline = time.monotonic() + SECONDS
        while not self.loaded:
            self.on_event(self.browser.receive(deadline, f"the end of loading {self.url}"))

    def see(self):
        self.evaluate(PREPARE)
        script = (MEASURE.replace("WIDTH", str(self.width)).replace("SCHEME", self.scheme)
                  .replace("PHONE", str(PHONE)))
        seen = self.evaluate(script)
        return Seen(problems=self.problems + seen["problems"], hidden=dict(seen["hidden"]),
                    figures=seen["figures"], texts=seen["texts"], links=seen["links"])

    def screenshot(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": max(self.width, size["width"]),
                "height": min(size["height"], HIGHEST_SCREENSHOT), "scale": 1}
        answer = self.call("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(answer["data"]))

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})

    # -- events

    def on_event(self, message):
        handler = self.HANDLERS.get(message.get("method"))
        if handler and message.get("sessionId") == self.session:
            handler(self, message["params"])

    def on_load(self, _):
        self.loaded = True

    def on_paused(self, event):
        number, url = event["requestId"], event["request"]["url"]
        if self.allows(url):
            self.browser.send("Fetch.continueRequest", {"requestId": number}, self.session)
        else:
            self.browser.send("Fetch.failRequest",
                              {"requestId": number, "errorReason": "BlockedByClient"}, self.session)

    def on_request(self, event):
        # Fetch does not pause every request; this event shows the rest too.
        self.refuse(event["request"]["url"])

    def on_socket(self, event):
        self.refuse(event["url"])

    def allows(self, url):
        return url.startswith("data:") or urllib.parse.urldefrag(url).url == self.url

    def refuse(self, url):
        if not self.allows(url) and url not in self.refused:
            self.refused.add(url)
            self.problems.append(f"asks for {url[:200]}")

    def on_console(self, event):
        if event["type"] in ("error", "warning", "assert"):
            words = [str(part.get("value", part.get("description", ""))) for part in event["args"]]
            self.problems.append(f"console {event['type']}: {' '.join(words)}")

    def on_exception(self, event):
        self.problems.append(f"exception: {exception_text(event['exceptionDetails'])}")

    def on_log(self, event):
        entry = event["entry"]
        known = entry.get("source") == "network" and entry.get("url") in self.refused
        if entry["level"] in ("error", "warning") and not known:
            self.problems.append(f"log {entry['level']}: {entry['text']}")

    def on_crash(self, _):
        raise CheckFailed(f"{self.url} crashed the browser")

    HANDLERS = {
        "Page.loadEventFired": on_load, "Fetch.requestPaused": on_paused,
        "Network.requestWillBeSent": on_request, "Network.webSocketCreated": on_socket,
        "Runtime.consoleAPICalled": on_console, "Runtime.exceptionThrown": on_exception,
        "Log.entryAdded": on_log, "Inspector.targetCrashed": on_crash,
    }


def exception_text(details):
    return details.get("exception", {}).get("description", details.get("text", "")).split("\n")[0]


def broken_links(page, links):
    """Links to files that are not there; what leads to other sites is not followed."""
    for link in links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            continue
        if not pathlib.Path(page.parent, urllib.parse.unquote(parts.path)).exists():
            yield f"links to {link}, which is not there"


def check_page(browser, page, views=None, screenshots=None):
    """All that is wrong with a page, as text, and what was seen of it last."""
    page = pathlib.Path(page).resolve()
    if not page.is_file():
        raise CheckFailed(f"there is no file {page}")
    problems, hidden, links = [], {}, set()
    for width, scheme in views or VIEWS:
        view = View(browser, page.as_uri(), width, scheme)
        view.open()
        seen = view.see()
        problems += [f"{width} px, {scheme}: {problem}" for problem in seen.problems]
        hidden.setdefault(width, []).append(seen.hidden)
        links.update(seen.links)
        if screenshots:
            screenshots.mkdir(parents=True, exist_ok=True)
            view.screenshot(screenshots / f"{page.parent.name}-{page.stem}-{width}-{scheme}.png")
        view.close()
    for width, schemes in hidden.items():
        for number in set.intersection(*map(set, schemes)):
            problems.append(f"{width} px: {schemes[0][number]}")
    return problems + sorted(broken_links(page, links)), seen


# ---- Self-test ----

VIDEO = (
    "data:video/webm;base64,"
    "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQJChYECGFOAZwEAAAAAAAH9EU2bdLpNu4tTq4QVSalmU6yBoU"
    "27i1OrhBZUrmtTrIHYTbuMU6uEElTDZ1OsggEeTbuMU6uEHFO7a1OsggHn7AEAAAAAAABZAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAVSalmsirXsYMPQkBNgI1MYXZmNTkuMjcuMTAwV0GNTGF2ZjU5LjI3LjEwMESJiEBZAAAAAAAAFlSua8Gu"
    "AQAAAAAAADjXgQFzxYhCAZjxl4PbfJyBACK1nIN1bmSIgQCGhVZfVlA4g4EBI+ODhAX14QDgibCBELqBEJqBAhJUw2"
    "f9c3OgY8CAZ8iaRaOHRU5DT0RFUkSHjUxhdmY1OS4yNy4xMDBzc9djwItjxYhCAZjxl4PbfGfIoUWjh0VOQ09ERVJE"
    "h5RMYXZjNTkuMzcuMTAwIGxpYnZweGfIokWjiERVUkFUSU9ORIeUMDA6MDA6MDAuMTAwMDAwMDAwAAAfQ7Z1wueBAK"
    "O9gQAAgPACAJ0BKhAAEAAARwiFhYiFhIgCAgJ1qgP4A/oCDU0YAP79bvP/45k3MMT/jm3/8WE8DijI//FRABxTu2uR"
    "u4+zgQC3iveBAfGCAaDwgQM=")
PIXEL = ("data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
HEAD = ('<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">')
DRAWING = '<svg width="90" height="60"><rect width="90" height="60" fill="red"/></svg>'

# Everything a report may have, done well.
GOOD = f"""{HEAD}<style>
@media (prefers-color-scheme: dark) {{
  td {{ color: #eee; background: #222; }}
  .light {{ display: none; }}
}}
@media (prefers-color-scheme: light) {{ .dark {{ display: none; }} }}
.wide {{ overflow-x: auto; }} table {{ width: 900px; }} .long {{ height: 3000px; }}
</style><h1 id="top">Title</h1>
<p>Text with a <a href="#top">link</a> and <a href="good.html">another</a></p>
<div class="wide"><table><tr>{"<td>1</td>" * 8}</tr></table></div>
<details><summary>More</summary><img alt="a" src="{PIXEL}" width="50" height="50"></details>
<div class="long"></div><img alt="lazy" loading="lazy" src="{PIXEL}" width="50" height="50">
<img class="light" alt="by day" src="{PIXEL}" width="9" height="9">
<img class="dark" alt="by night" src="{PIXEL}" width="9" height="9">
{DRAWING}<video src="{VIDEO}" preload="none" controls width="100"></video>"""

# A page's body, and part of the one problem that must be found in it, on a phone in dark mode.
BROKEN = {
    "picture": ('<img alt="curve" src="data:image/png;base64,AAAA">', '<img "curve"'),
    "hidden": (f'<img alt="curve" src="{PIXEL}" style="display: none">', "cannot be seen"),
    "see-through": (f'<div style="opacity: 0">{DRAWING}</div>', "cannot be seen"),
    "left-out": (f'<div style="position: fixed; left: -99px">{DRAWING}</div>', "cannot be seen"),
    "no-size": (f'<img alt="curve" src="{PIXEL}" width="0" height="0">', "cannot be seen"),
    "drawing": ('<svg width="90" height="60"></svg>', "nothing in it"),
    "video": ('<video src="data:video/mp4;base64,AAAA" width="90"></video>', "no video"),
    "error": ('<script>console.error("told", 7)</script>', "console error: told 7"),
    "warning": ('<script>console.warn("told")</script>', "console warning: told"),
    "exception": ("<script>nothing.at.all()</script>", "exception: ReferenceError"),
    "later": ("<script>setTimeout(() => { throw new Error('late') })</script>", "Error: late"),
    "policy": ('<meta http-equiv="Content-Security-Policy" content="script-src \'none\'">'
               "<script>1</script>", "log error: "),
    "wide": ('<div id="culprit" style="width: 700px">a</div><div style="overflow-x: auto">'
             '<p style="width: 900px">b</p></div>', "in a window of 390: <div#culprit"),
    "column": ('<div style="overflow-x: auto"><table style="width: 900px"><tr><td>1</td><td>2</td>'
               '</tr></table></div>', 'column <td "1"> of a table is cut off'),
    "cut": ('<style>html, body { overflow-x: hidden }</style>'
            '<div id="culprit" style="width: 700px">b</div>', "cut off at 390 px: <div#culprit"),
    "external": ('<img alt="x" src="https://example.com/a">', "asks for https://example.com/a"),
    "style": ('<link rel="stylesheet" href="http://example.com/a">', "asks for http://example.com"),
    "font": ('<style>@font-face { font-family: f; src: url(https://example.com/f.woff2) }</style>'
             '<p style="font-family: f">a</p>', "asks for https://example.com/f.woff2"),
    "fetch": ('<script>fetch("https://example.com").catch(() => {})</script>', "asks for https:"),
    "socket": ('<script>new WebSocket("ws://example.com/a")</script>', "asks for ws://example.com"),
    "frame": ('<iframe src="https://example.com/"></iframe>', "asks for https://example.com"),
    "sibling": ('<img alt="x" src="good.html">', "good.html"),
    "dark": ('<style>td { color: #222 }</style><table><tr><td>7</td></tr></table>',
             '<td "7"> has a contrast'),
    "body": ('<style>body { color: black; }</style>text', '<body "text"> has a contrast'),
    "faint": ('<p style="opacity: 0.3">text</p>', '<p "text"> has a contrast'),
    "place": ('<a href="#nowhere">a</a>', "links to #nowhere"),
    "file": ('<a href="figures/none.svg">a</a>', "links to figures/none.svg"),
}
# These cause more than one problem.
SEVERAL = {"external", "sibling", "style", "font", "fetch", "socket", "frame", "no-size"}


def self_test(browser):
    """What the check misses, as text."""
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        pages_folder = pathlib.Path(folder, "pages")
        pages_folder.mkdir()

        def written(name, text):
            path = pages_folder / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            return path

        good = written("good", GOOD)
        problems, seen = check_page(browser, good, screenshots=pathlib.Path(folder, "screenshots"))
        missed += [f"good: {problem}" for problem in problems]
        if (seen.figures, seen.texts) != (6, 13):
            missed.append(f"good: saw {seen.figures} figures and {seen.texts} texts, not 6 and 13")
        for width, scheme in VIEWS:
            path = pathlib.Path(folder, "screenshots", f"pages-good-{width}-{scheme}.png")
            data = path.read_bytes()
            found = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
            if data[:4] != b"\x89PNG" or found[0] != width or found[1] < 3000:
                missed.append(f"good: the screenshot at {width} px is {found[0]} x {found[1]}")
        # Without its viewport tag, the page is laid out for a desktop and shrunk.
        pages = {name: (HEAD + body, part) for name, (body, part) in BROKEN.items()}
        pages["viewport"] = (f"<!doctype html><title>t</title>{DRAWING}", "viewport")
        for name, (text, part) in pages.items():
            problems, _ = check_page(browser, written(name, text), views=[(390, "dark")])
            if not any(part in problem for problem in problems):
                missed.append(f"{name}: expected '{part}', found {problems}")
            if len(problems) > 1 and name not in SEVERAL:
                missed.append(f"{name}: more than '{part}' found: {problems}")
    return missed, len(pages) + 1


# ---- The program ----


def main():
    parser = argparse.ArgumentParser(description="Checks HTML pages in Chromium.")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, metavar="PAGE.html")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR",
                        help="write DIR/FOLDER-PAGE-WIDTH-SCHEME.png, the whole page each "
                             f"(its first {HIGHEST_SCREENSHOT} pixels)")
    parser.add_argument("--browser", default="chromium", metavar="PROGRAM")
    parser.add_argument("--self-test", action="store_true",
                        help="check that broken pages are found and a good one is not")
    options = parser.parse_args()
    if not options.pages and not options.self_test:
        parser.error("no page given")
    program = shutil.which(options.browser)
    if program is None:
        in_ci = os.environ.get("CI") == "true"
        print(f"{'failed' if in_ci else 'skipped'}: there is no {options.browser} "
              "(scripts/packages browser installs it)")
        return 1 if in_ci else 77

    start = time.monotonic()
    problems = []
    try:
        with Browser(program) as browser:
            if options.self_test:
                missed, count = self_test(browser)
                problems += [f"self-test: {line}" for line in missed]
                if not missed:
                    print(f"self-test: {count} pages, as they should be")
            for page in options.pages:
                found, seen = check_page(browser, page, screenshots=options.screenshots)
                problems += [f"{page}: {problem}" for problem in found]
                if not found:
                    print(f"{page}: {seen.figures} figures, {seen.texts} texts, "
                          f"{len(VIEWS)} views: all well")
    except CheckFailed as error:
        problems.append(str(error))
    for problem in problems:
        print(f"FAILED: {problem}")
    print(f"{time.monotonic() - start:.1f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
