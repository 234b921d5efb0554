"""The report in a real browser: it sorts, filters, restores what its address says, and draws what the ledger holds.

Needs Chromium, its driver and selenium; without them the tests are skipped and say so. The page is built from the
reference; traces are made from its ledger, so that the steps are tested wherever they were not stored.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from PIL import Image

from benchmarks.results.files import REFERENCE
from benchmarks.results.graphs import Change
from benchmarks.results.reader import Results
from figures import report
from figures.report.page import LIMIT
from tests import molecules
from tests.conftest import made_once

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(BROWSER is None or DRIVER is None, reason="no Chromium with its driver was found")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
TRACED = 5  # graphs of fold 0 that get a trace
PATIENCE = 60  # seconds: tests may run beside long computations

# What is drawn in the cards: pairs by kind, from the paths' coordinates and the nodes' places, and from the pixels.
DRAWN = """
const css = getComputedStyle(document.documentElement);
const colour = (name) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = css.getPropertyValue(name);
  pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data.slice(0, 3).join();
};
const kinds = { [colour("--pixel")]: "kept", [colour("--added")]: "added", [colour("--removed")]: "removed" };
return [...document.querySelectorAll(arguments[0])].map((card) => {
  const drawn = { row: card.dataset.row, valid: card.dataset.valid, pixels: {}, text: card.innerText };
  const places = {};
  for (const node of card.querySelectorAll("circle")) {
    places[`${node.getAttribute("cx")} ${node.getAttribute("cy")}`] = Number(node.dataset.node);
  }
  for (const kind of ["kept", "added", "removed"]) {
    const path = card.querySelector(`path.${kind}:not(.now)`);
    drawn[kind] = (path ? path.getAttribute("d").split("M").slice(1) : []).map((part) => {
      const [from, to] = part.split(/[La]/);
      return part.includes("a") ? [places[from], places[from]] : [places[from], places[to]];
    });
  }
  const canvas = card.querySelector("canvas");
  if (canvas) {
    const n = card.querySelectorAll("circle").length, side = canvas.width / n;
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.width).data;
    for (let u = 0; u < n; u++) for (let v = u; v < n; v++) {
      const at = 4 * (Math.floor((u + 0.5) * side) * canvas.width + Math.floor((v + 0.5) * side));
      const kind = kinds[data.slice(at, at + 3).join()];
      if (kind) (drawn.pixels[kind] ||= []).push([u, v]);
    }
  }
  return drawn;
});
"""


def rows_of(dataset: str, method: str, variant: str) -> pd.DataFrame:
    """Replicate 0 of a row, straight from its file."""
    rows = pq.read_table(REFERENCE / "ledger" / f"{dataset}.{method}.{variant}.parquet").to_pandas()
    return rows[rows["seed"] == 0].set_index("instance")


def pairs(codes: Any, n: int) -> set[tuple[int, int]]:
    return {divmod(int(code), n) for code in np.asarray(codes)}


def traces() -> pd.DataFrame:
    """Traces that lead to the ledger's answers: the edges that they lack, then the pairs that they have more."""
    inputs, answers = rows_of("tree-cycles", "empty", "control"), rows_of("tree-cycles", "rsgg-ce", "released")
    chosen = answers[(answers["fold"] == 0) & answers["found"]].iloc[:TRACED]
    lines = []
    for instance, row in chosen.iterrows():
        edges, n = {*map(int, inputs.at[instance, "edits"])}, int(row["n_nodes"])
        edits = [int(code) for code in row["edits"]]
        scores = (np.arange(n * (n - 1) // 2) % 256).astype(np.uint8)
        lines.append({"dataset": "tree-cycles", "method": "rsgg-ce", "variant": "released", "fold": 0,
                      "instance": instance, "n_nodes": n, "scores": scores, "calls": int(row["calls"]), "found": True,
                      "removed": [e for e in edits if e in edges],
                      "checked": [e for e in edits if e not in edges]})  # fmt: skip
    return pd.DataFrame(lines)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        for path in REFERENCE.iterdir():
            if path.name != "traces.parquet":  # these are made up here, and not to be written through a link
                (folder / path.name).symlink_to(path)
        traces().to_parquet(folder / "traces.parquet")
        (folder / "out").mkdir()
        (folder / "out" / "index.html").write_text(report.build(Results((folder,))), encoding="utf-8")

    written = made_once(tmp_path_factory, "report", make) / "out" / "index.html"
    assert written.stat().st_size < LIMIT
    return written


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    environment = {**os.environ, "SE_OFFLINE": "true", "SE_AVOID_STATS": "true"}
    driver = webdriver.Chrome(options=options, service=Service(DRIVER, env=environment))
    yield driver
    driver.quit()


@pytest.fixture
def browser(started: Any, page: Path) -> Iterator[Any]:
    """At the top of the page, as wide as a desk; afterwards nothing was complained about and nothing was asked for."""
    viewport(started, 1280, 900)
    started.get("about:blank")
    started.get(page.as_uri())
    yield started
    assert not started.get_log("browser")
    messages = [json.loads(entry["message"])["message"] for entry in started.get_log("performance")]
    requests = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    asked = [one["request"]["url"] for one in requests if one["documentURL"].startswith("file:")]  # not by the browser
    assert asked and all(url.startswith(("file:", "data:")) for url in asked), asked


def viewport(driver: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def wait_for(driver: Any, script: str) -> Any:
    return WebDriverWait(driver, PATIENCE, 0.05).until(lambda d: d.execute_script(f"return {script}"))


def open_explorer(driver: Any, page: Path, state: str) -> None:
    driver.get("about:blank")
    driver.get(f"{page.as_uri()}#explorer?{state}")
    wait_for(driver, "document.querySelectorAll('#stage .card').length > 0")


def shown(driver: Any) -> dict[str, str]:
    said = driver.execute_script("return Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))")
    return {**said, "stage": driver.find_element(By.ID, "stage").get_attribute("data-instance")}


def test_a_heading_sorts_with_mouse_and_keyboard(browser: Any) -> None:
    column = "[...document.querySelectorAll('#table-tree-cycles tbody tr')].map((row) => row.cells[3].dataset.value)"
    original = browser.execute_script(f"return {column}")
    heading = browser.find_elements(By.CSS_SELECTOR, "#table-tree-cycles thead th")[3]
    assert heading.text.startswith("GED")
    for way, press in (("ascending", "click"), ("descending", "key"), ("none", "key")):
        button = heading.find_element(By.TAG_NAME, "button")
        button.click() if press == "click" else button.send_keys(Keys.ENTER)
        assert heading.get_attribute("aria-sort") == way
        values = [float(value) for value in browser.execute_script(f"return {column}") if value is not None]
        if way == "none":
            assert browser.execute_script(f"return {column}") == original
        else:
            assert values == sorted(values, reverse=way == "descending") and len(values) > 30


def test_pointing_at_a_number_or_walking_there_shows_its_interval(browser: Any) -> None:
    table = pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])
    row = browser.find_element(By.CSS_SELECTOR, "#table-asd tr[data-method='rsgg-ce'][data-variant='faithful']")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", row)
    row.find_elements(By.TAG_NAME, "td")[1].click()
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    line = table.loc["asd", "rsgg-ce", "faithful", "ged"]
    wait_for(
        browser, f"document.getElementById('tip').textContent.includes('{line['ci_low']:.3f} to {line['ci_high']:.3f}')"
    )
    assert browser.find_element(By.ID, "tip").is_displayed()
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not browser.find_element(By.ID, "tip").is_displayed()


def test_findings_are_filtered_by_verdict_and_word(browser: Any) -> None:
    findings = pd.read_csv(REFERENCE / "findings.csv")
    visible = "[...document.querySelectorAll('#list-findings-list li')].filter((item) => !item.hidden).length"
    assert browser.execute_script(f"return {visible}") == len(findings)
    button = browser.find_element(By.CSS_SELECTOR, "[data-filter=list-findings-list] [data-verdict=confirmed]")
    browser.execute_script("arguments[0].click()", button)
    assert browser.execute_script(f"return {visible}") == (findings["verdict"] == "confirmed").sum()
    search = browser.find_element(By.CSS_SELECTOR, "[data-filter=list-findings-list] input")
    search.send_keys("no such word")
    assert browser.execute_script(f"return {visible}") == 0


@pytest.mark.parametrize(
    ("dataset", "n", "instances", "methods"),
    [
        ("tree-cycles", 28, (0, 137, 499), ("rsgg-ce:faithful", "rsgg-ce:released", "clear:released", "obs:search")),
        ("asd", 116, (2, 100), ("rsgg-ce:faithful", "g-countergan:released", "clear:released", "optimum:control")),
    ],
)
def test_what_is_drawn_is_what_the_ledger_holds(
    browser: Any, page: Path, dataset: str, n: int, instances: tuple[int, ...], methods: tuple[str, ...]
) -> None:
    inputs = rows_of(dataset, "empty", "control")
    answers = {key: rows_of(dataset, *key.split(":")) for key in methods}
    for instance in instances:
        open_explorer(browser, page, f"d={dataset}&i={instance}&m={'+'.join(methods)}")
        cards = {card["row"]: card for card in browser.execute_script(DRAWN, "#stage .card")}
        edges = pairs(inputs.at[instance, "edits"], n)
        assert set(cards) == {"input", *methods}
        for key, card in cards.items():
            edits = set() if key == "input" else pairs(answers[key].at[instance, "edits"], n)
            expected = {"kept": edges - edits, "added": edits - edges, "removed": edits & edges}
            for kind, wanted in expected.items():
                assert {tuple(sorted(pair)) for pair in card[kind]} == wanted, (key, kind)
                assert {tuple(pair) for pair in card["pixels"].get(kind, [])} == wanted, (key, kind)
            if key != "input":
                row = answers[key].loc[instance]
                assert card["valid"] == str(bool(row["found"] and row["predicted"] != row["predicted_cf"])).lower()
                assert f"oracle calls\n{row['calls']}\n" in card["text"] and f"GED\n{row['ged']:g}\n" in card["text"]


def test_keys_and_fields_choose_and_the_address_restores(browser: Any, page: Path) -> None:
    assert "Loading" in browser.find_element(By.ID, "stage").get_attribute("textContent"), "unpacked when it is needed"
    open_explorer(browser, page, "d=tree-cycles&m=rsgg-ce:faithful&v=graph")
    folds = rows_of("tree-cycles", "empty", "control")["fold"]
    first, second = sorted(folds.index[folds == 0])[:2]
    stage = browser.find_element(By.ID, "stage")
    assert shown(browser)["stage"] == str(first)
    for key, expected in (
        (Keys.ARROW_RIGHT, second),
        (Keys.ARROW_LEFT, first),
        (Keys.ARROW_DOWN, min(folds.index[folds == 1])),
    ):
        stage.send_keys(key)
        wait_for(browser, f"document.getElementById('stage').dataset.instance === '{expected}'")
    Select(browser.find_element(By.NAME, "fold")).select_by_value("4")
    wait_for(browser, f"document.getElementById('stage').dataset.instance === '{min(folds.index[folds == 4])}'")
    browser.find_element(By.NAME, "next").click()
    browser.find_element(By.CSS_SELECTOR, "#methods summary").click()
    browser.find_element(By.CSS_SELECTOR, "#methods input[value='clear:faithful']").click()
    browser.find_element(By.NAME, "safe").click()
    wait_for(browser, "location.hash.includes('c=safe') && document.querySelectorAll('#stage .card').length === 3")
    before, address = shown(browser), browser.current_url
    assert before["m"] == "rsgg-ce:faithful clear:faithful" and before["i"] == before["stage"]
    browser.get("about:blank")
    browser.get(address)
    wait_for(browser, "document.querySelectorAll('#stage .card').length === 3")
    assert shown(browser) == before and browser.find_element(By.NAME, "safe").is_selected()
    assert browser.find_element(By.NAME, "view").get_attribute("value") == "graph"


def test_the_sampling_is_stepped_through_to_what_the_ledger_holds(browser: Any, page: Path) -> None:
    trace = traces().iloc[0]
    other = rows_of("tree-cycles", "empty", "control").query("fold == 1").index[0]
    open_explorer(browser, page, f"d=tree-cycles&i={other}&m=rsgg-ce:released")
    assert "No trace of the sampling is stored for this graph." in browser.find_element(By.ID, "trace").text
    browser.find_element(By.CSS_SELECTOR, "#trace [data-go]").click()
    wait_for(browser, "document.querySelector('#trace .card')")
    steps = len(trace["removed"]) + len(trace["checked"])
    for step in range(1, 3):
        browser.find_element(By.ID, "stage").send_keys("]")
        wait_for(browser, f"document.querySelector('#trace .card').dataset.step === '{step}'")
    assert f"Step 2 of {steps}." in browser.find_element(By.CSS_SELECTOR, "#trace output").text
    browser.find_element(By.CSS_SELECTOR, "[data-to='last step']").click()
    wait_for(browser, f"document.querySelector('#trace .card').dataset.step === '{steps}'")
    assert "this graph is the counterfactual" in browser.find_element(By.CSS_SELECTOR, "#trace output").text
    (card,) = browser.execute_script(DRAWN, "#trace .card")
    for kind, name in (("removed", "removed"), ("added", "checked")):
        assert {tuple(sorted(pair)) for pair in card[kind]} == pairs(trace[name], int(trace["n_nodes"]))


def test_the_sampling_plays_to_its_end(browser: Any, page: Path) -> None:
    open_explorer(browser, page, "d=tree-cycles")
    browser.find_element(By.CSS_SELECTOR, '#trace [data-to="play"]').click()
    card = "document.querySelector('#trace .card').dataset"
    wait_for(browser, f"{card}.step === {card}.steps")
    wait_for(browser, "document.querySelector('#trace [data-to=play]').getAttribute('aria-label') === 'play'")


def test_telling_graphs_are_found_and_few_edits_are_said_in_words(browser: Any, page: Path) -> None:
    """By the ledger: the graph with the largest difference between the GED of two rows that both explain it."""
    rows = {
        f"{m}:{v}": rows_of("tree-cycles", m, v) for m, v in (("rsgg-ce", "released"), ("rsgg-ce-certified", "beyond"))
    }
    open_explorer(browser, page, f"d=tree-cycles&m={' '.join(rows)}&v=edits")
    assert browser.find_elements(By.CSS_SELECTOR, "#stage svg.only-edits") and not browser.find_elements(
        By.CSS_SELECTOR, "#stage canvas"
    )
    explained = {key: own["found"] & (own["predicted"] != own["predicted_cf"]) for key, own in rows.items()}
    edits = pd.DataFrame({key: own["ged"].where(explained[key]) for key, own in rows.items()})
    gaps = (edits.max(axis=1) - edits.min(axis=1)).where(edits.notna().any(axis=1), 0)
    field = browser.find_element(By.CSS_SELECTOR, "#choice [name=telling]")
    Select(field).select_by_value("gap")
    browser.find_element(By.CSS_SELECTOR, "#choice [name=jump]").click()
    wait_for(browser, "document.getElementById('which').textContent.startsWith('1 of ')")
    instance = int(browser.execute_script("return document.getElementById('stage').dataset.instance"))
    assert gaps[instance] == gaps.max() > 0
    words = browser.find_element(By.CSS_SELECTOR, '[data-row="rsgg-ce-certified:beyond"] [data-words]').text
    assert words.startswith(("Remove ", "Add "))


def test_figures_are_enlarged_and_tables_can_be_downloaded(browser: Any) -> None:
    browser.execute_script("document.querySelector('.zoom').click()")
    wait_for(browser, "document.getElementById('large').open")
    assert browser.execute_script("return document.querySelector('#large img').naturalWidth") > 500
    browser.execute_script("document.getElementById('large').click()")
    wait_for(browser, "!document.getElementById('large').open")
    unpacked = browser.execute_async_script(
        "const done = arguments[0], link = document.querySelector('[download=\"verdicts.csv\"]');"
        "link.addEventListener('click', (event) => { if (link.href.startsWith('blob:')) event.preventDefault(); });"
        "link.click();"
        "const wait = setInterval(async () => { if (!link.href.startsWith('blob:')) return; clearInterval(wait);"
        "  const bytes = new Uint8Array(await uncompressed(link.dataset.packed));"
        "  done(btoa(String.fromCharCode(...bytes))); }, 20);"
    )
    assert base64.b64decode(unpacked) == (REFERENCE / "verdicts.csv").read_bytes()
    assert browser.find_element(By.CSS_SELECTOR, ".copy pre").get_attribute("textContent").startswith("@inproceedings")
    browser.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    browser.execute_script("document.querySelector('[aria-label=\"Copy table1_paper.tex\"]').click()")
    wait_for(browser, "window.copied !== undefined")
    assert browser.execute_script("return window.copied") == (REFERENCE / "table1_paper.tex").read_text()


def test_headings_stay_in_sight_and_the_corner_lies_above_the_names(browser: Any) -> None:
    browser.execute_script(
        "const box = document.querySelector('#table-tree-cycles').parentElement;"
        "box.scrollIntoView(); box.scrollTop = 400; box.scrollLeft = 200;"
    )
    corner = browser.execute_script(
        "const box = document.querySelector('#table-tree-cycles').parentElement.getBoundingClientRect();"
        "return document.elementFromPoint(box.left + 20, box.top + 12).closest('th').textContent.trim()"
    )
    assert corner == "Method"


@pytest.mark.parametrize("table", ["#table-tree-cycles", "#real-data .plain"])
def test_names_of_rows_stay_in_sight_on_a_phone(browser: Any, table: str) -> None:
    viewport(browser, 390, 844)
    names = browser.execute_script(
        "const table = document.querySelector(arguments[0]), box = table.parentElement;"
        "box.scrollLeft = 300;"
        "const left = (one) => Math.round(one.getBoundingClientRect().left - box.getBoundingClientRect().left);"
        "const names = [...table.querySelectorAll('th[scope=row], th[scope=rowgroup] span')];"
        "return { scrolled: box.scrollLeft, places: names.map(left) }",
        table,
    )
    assert names["scrolled"] == 300 and all(0 <= place < 20 for place in names["places"])


@pytest.fixture
def real_page(started: Any, tmp_path: Path) -> Path:
    """A page of real data alone: four molecules."""
    pytest.importorskip("rdkit")
    written = tmp_path / "index.html"
    written.write_text(report.build(Results((molecules.write(tmp_path / "results"),))), encoding="utf-8")
    viewport(started, 1280, 900)
    return written


def test_molecules_are_drawn_with_their_atoms_and_edits(started: Any, real_page: Path) -> None:
    """What is drawn is what the ledger holds: bonds by kind, symbols after the edits, edits of nodes in words."""
    rows = ("rsgg-ce-nodes:beyond", "obs:search", "empty:control")
    words = {4: "Node 0 becomes N instead of O.", 30: "A leaf O is added to node 0.",
             9: "A leaf Cl is added to node 5; node 0 (O) is dropped."}  # fmt: skip
    for instance in molecules.SMILES:
        open_explorer(started, real_page, f"d={molecules.TASK.name}&i={instance}&m={'+'.join(rows)}")
        cards = {card["row"]: card for card in started.execute_script(DRAWN, "#stage .card")}
        graph = molecules.molecule(instance)
        assert set(cards) == {"input", *rows}
        for key, card in cards.items():
            answer = (
                molecules.answer(tuple(key.split(":")), instance) if key != "input" else {"edits": [], "node_edits": []}
            )
            change = Change.of(graph, answer["edits"], answer["node_edits"])
            for kind in ("kept", "added", "removed"):
                wanted = {tuple(sorted(pair)) for pair in getattr(change, kind)}
                assert {tuple(sorted(pair)) for pair in card[kind]} == wanted, (instance, key, kind)
                assert {tuple(pair) for pair in card["pixels"].get(kind, [])} == wanted, (instance, key, kind)
            labels = {**dict(enumerate(graph.labels)), **change.nodes.relabelled}
            labels |= {graph.n_nodes + i: label for i, (_, label) in enumerate(change.nodes.leaves)}
            symbols = f"[...document.querySelectorAll(`[data-row='{key}'] svg text`)].map((text) => text.textContent)"
            assert started.execute_script(f"return {symbols}") == [molecules.SYMBOLS[labels[i]] for i in sorted(labels)]
        where = "[data-row='rsgg-ce-nodes:beyond'] [data-words]"
        said = started.execute_script(f'return document.querySelector("{where}")?.textContent ?? ""')
        assert words[instance].lower() in said.lower() if instance in words else "ode" not in said
        if instance == 4:
            bonds = started.find_element(By.CSS_SELECTOR, "[data-row='obs:search'] [data-words]").text
            assert bonds == "Remove O0–C1; add O0–C2."
    assert not started.get_log("browser")


def test_a_data_set_begins_with_rows_of_its_own(started: Any, real_page: Path) -> None:
    open_explorer(started, real_page, f"d={molecules.TASK.name}")
    keys = "[...document.querySelectorAll('#stage .card')].map((card) => card.dataset.row)"
    assert started.execute_script(f"return {keys}") == ["input", "rsgg-ce-nodes:beyond", "obs:search"]
    assert not started.find_element(By.ID, "trace").is_displayed(), "of real data no sampling is traced"
    assert started.find_element(By.CSS_SELECTOR, ".of-nodes").is_displayed()
    open_explorer(started, real_page, f"d={molecules.TASK.name}&m=rsgg-ce:released")
    assert len(started.execute_script(f"return {keys}")) == 3, "rows of other data are not here"
    for width in (1280, 360):
        viewport(started, width, 740)
        started.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert started.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert not started.get_log("browser")


def test_the_page_scrolls_one_way_only(browser: Any, page: Path) -> None:
    open_explorer(browser, page, "d=asd")
    browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    wider = []
    for width in (360, 390, 768, 1200, 1600):
        viewport(browser, width, 740)
        if browser.execute_script("return document.documentElement.scrollWidth > innerWidth"):
            wider.append(width)
    assert not wider


def test_what_was_not_computed_is_folded(browser: Any) -> None:
    """More than a hundred sentences would stand between the heading and the table."""
    above = browser.execute_script(
        "const top = (one) => document.querySelector(`#real-data ${one}`).getBoundingClientRect().top;"
        "return top('.scroll') - top('h2')"
    )
    assert 0 < above < 900


def brightness(driver: Any, selector: str) -> float:
    """The mean of a picture as it is shown, from 0 (black) to 255."""
    element = driver.find_element(By.CSS_SELECTOR, selector)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    wait_for(driver, f"document.querySelector('{selector}').complete")
    with Image.open(BytesIO(element.screenshot_as_png)) as picture:
        return float(np.asarray(picture.convert("L")).mean())


@pytest.mark.parametrize("selector", [".figures img", ".thumbnails img"])
def test_figures_are_dark_where_the_page_is(browser: Any, selector: str) -> None:
    shown_as = {}
    for theme in ("light", "dark"):
        scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        wait_for(browser, f"document.documentElement.dataset.theme === '{theme}'")
        shown_as[theme] = brightness(browser, selector)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert shown_as["light"] > 200 and shown_as["dark"] < 60


def test_the_first_sight_takes_less_than_a_second_of_work(browser: Any) -> None:
    """Seconds that the browser itself was busy until then: a loaded machine takes longer by the clock."""
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    browser.refresh()
    wait_for(browser, "performance.getEntriesByName('first-contentful-paint').length > 0")
    metrics = {one["name"]: one["value"] for one in browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
    browser.execute_cdp_cmd("Performance.disable", {})
    assert metrics["ScriptDuration"] + metrics["LayoutDuration"] + metrics["RecalcStyleDuration"] < 1


def test_dark_is_followed_and_can_be_switched(browser: Any) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(ground)
    scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    wait_for(browser, "document.documentElement.dataset.theme === 'dark'")
    assert browser.execute_script(ground) != light
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(ground) == light
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
