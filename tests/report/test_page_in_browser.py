"""The page as people meet it, in Chromium: mouse, touch, keyboard, both themes, small screens, no scripts."""

import csv
import io
import os
import re
import shutil
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ufselect import FSASL, MCFS, LaplacianScore, MaxVariance
from ufselect.datasets import make_planted_clusters
from ufselect.report import Study, render_page

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LONG = "x" * 10_000
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><b>bold",
    'quote "and", comma',
    "line\nbreak",
    LONG,
    "=1+1",
    "שלום",
]
TEXTS = ["h1", "figcaption", ".facts dt", "#count", "#theme", "td.name", "td.rank", "td.yes", "thead th button", "pre"]


def chromium():
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("UFSELECT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def digits_study():
    X, digits = load_digits(return_X_y=True)
    X, digits = X[:300], digits[:300]
    selector = FSASL(n_features_to_select=15, n_clusters=10).fit(X)
    names = [f"pixel {place // 8} {place % 8}" for place in range(64)]
    command = "ufselect select digits.csv --features 15 --clusters 10"
    groups = {"digit": digits}
    return Study(selector, X, names, "digits.csv", command, groups=groups, notes=["Ten were given."], image=(8, 8))


def planted_study():
    X, clusters, _ = make_planted_clusters(150, 3, 30, 300, random_state=0)
    names = [f"gene {column}" for column in range(X.shape[1])]
    labels = [f"cell {row}" for row in range(len(X))]
    selector = LaplacianScore(n_features_to_select=30).fit(X)
    return Study(selector, X, names, "planted.csv", "command", samples=labels, groups={"planted": clusters})


def hostile_study():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, len(HOSTILE))).cumsum(axis=0)
    selector = LaplacianScore(n_features_to_select=len(HOSTILE)).fit(X)
    groups = {HOSTILE[0]: HOSTILE[:4] * 10, "long": [LONG, "b"] * 20}
    labels = [HOSTILE[row % 2] for row in range(40)]
    return Study(selector, X, HOSTILE, LONG, LONG, samples=labels, groups=groups, notes=[LONG], facts={"<i>": LONG})


def denormal_study():
    """Three samples of few columns, whose variances are among the smallest numbers that there are."""
    X = np.outer([0.0, 1.0, 3.0], [1e-160, 2e-160, 3e-160, 4e-160])
    return Study(MaxVariance(n_features_to_select=2).fit(X), X, list("abcd"), "denormal.csv", "command")


def many_clusters_study():
    X, clusters, _ = make_planted_clusters(400, 40, 60, 20, random_state=0)
    names = [str(column) for column in range(80)]
    selector = MCFS(n_features_to_select=20, n_clusters=40).fit(X)
    return Study(selector, X, names, "many.csv", "command", groups={"planted": clusters})


EDGES = {"denormal": denormal_study, "clusters": many_clusters_study}
STUDIES = {"digits": digits_study, "planted": planted_study, "hostile": hostile_study}


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    if path is None:
        pytest.skip("no Chromium or Chrome is installed, nor named by UFSELECT_CHROMIUM")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def studies():
    return {name: make() for name, make in (STUDIES | EDGES).items()}


@pytest.fixture(scope="module")
def folder_of_pages(studies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, study in studies.items():
        (folder / f"{name}.html").write_text(render_page(study), encoding="utf-8")
    return folder


@pytest.fixture
def open_page(browser, folder_of_pages):
    """Open a page in a window of its own. In the end, no page has complained or asked for anything."""
    contexts, complaints, requests = [], [], []

    def open_page(name, *, width=1280, height=900, scripts=True, **options):
        size = {"width": width, "height": height}
        context = browser.new_context(
            viewport=size, java_script_enabled=scripts, reduced_motion="reduce", accept_downloads=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((folder_of_pages / f"{name}.html").as_uri())
        if scripts:
            page.wait_for_selector("html[data-ready=true]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    inside = re.compile(rf"({re.escape(folder_of_pages.as_uri())}/\w+\.html|data:|blob:)")
    assert [address for address in requests if not inside.match(address)] == []


def names_shown(page):
    return page.locator("#table td.name").all_inner_texts()


def best_names(study):
    return [str(study.names[column]) for column in np.argsort(study.selector.ranking_)]


def move_over(page, drawing, across=0.5, down=0.5):
    """Point at a place of the drawing, once the page stands still."""
    page.locator(drawing).scroll_into_view_if_needed()
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = page.locator(drawing).bounding_box()
    page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])


def tip_lines(page):
    tip = page.locator("#tip")
    playwright.expect(tip).to_be_visible()
    return tip.locator("div").all_inner_texts()


def test_headline_says_what_was_selected(open_page):
    page = open_page("digits")
    assert page.title() == "15 of 64 columns selected: digits.csv"
    assert page.locator("h1").inner_text() == "15 of 64 columns selected"
    facts = page.locator(".facts").inner_text()
    assert "300 samples × 64 columns" in facts
    assert "FSASL" in facts
    assert page.locator(".notes").inner_text() == "Ten were given."


def test_table_starts_with_the_selected_columns_by_rank(open_page, studies):
    page = open_page("digits")
    assert names_shown(page) == best_names(studies["digits"])[:15]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert page.locator("#count").inner_text() == "15 selected columns"


def test_table_sorts_by_mouse(open_page, studies):
    page = open_page("digits")
    head = page.get_by_role("button", name="Name")
    head.click()
    expected = sorted(best_names(studies["digits"])[:15])
    assert names_shown(page) == expected
    head.click()
    assert names_shown(page) == expected[::-1]
    assert page.locator("th[aria-sort=descending]").inner_text().strip() == "Name"


def test_table_sorts_by_keyboard(open_page, studies):
    page = open_page("digits")
    page.get_by_role("button", name="Score").focus()
    page.keyboard.press("Enter")
    assert names_shown(page) == best_names(studies["digits"])[:15]
    page.keyboard.press("Space")
    study = studies["digits"]
    score_of = dict(zip(study.names, study.selector.scores_, strict=True))
    worst_first = names_shown(page)
    assert set(worst_first) == set(best_names(study)[:15])
    assert [score_of[name] for name in worst_first] == sorted(score_of[name] for name in worst_first)
    assert page.evaluate("document.activeElement.dataset.key") == "score"


def test_first_click_on_a_head_puts_the_best_first(open_page):
    page = open_page("digits")
    first = {}
    for key in ("score", "rank", "gain", "name", "redundancy", "selected"):
        page.locator(f"[data-key={key}]").click()
        first[key] = page.locator("th[aria-sort]").get_attribute("aria-sort")
    falling = ["score", "gain", "redundancy"]
    assert first == {key: "descending" if key in falling else "ascending" for key in first}


def test_every_head_sorts_by_its_numbers(open_page):
    page = open_page("digits")
    page.get_by_role("button", name="All columns").first.click()
    page.get_by_label("Search").fill("3")
    for key, order in product(["rank", "score", "gain", "redundancy"], ["ascending", "descending"]):
        head = page.locator(f"[data-key={key}]")
        while page.locator(f"th.{key}").get_attribute("aria-sort") != order:
            head.click()
        texts = page.locator(f"td.{key}").all_inner_texts()
        numbers = [float(text.rstrip("\u00a0%")) for text in texts if text != "–"]
        assert numbers == sorted(numbers, reverse=order == "descending")
        assert texts[len(numbers) :] == ["–"] * (len(texts) - len(numbers))


def test_selected_columns_can_be_sorted_to_the_end(open_page):
    page = open_page("digits")
    page.get_by_role("button", name="All columns").first.click()
    for _ in range(2):
        page.locator("[data-key=selected]").click()
    assert page.locator("td.yes").count() == 0
    assert page.locator("td.no").count() == 25


def test_search_finds_names_and_says_how_many(open_page, studies):
    page = open_page("planted")
    page.get_by_role("button", name="All columns").first.click()
    page.get_by_label("Search").fill("GENE 32")
    expected = [name for name in best_names(studies["planted"]) if "gene 32" in name]
    assert names_shown(page) == expected
    status = page.get_by_role("status")
    assert status.inner_text() == f"{len(expected)} of 330 columns found"
    page.get_by_label("Search").fill("nothing like it")
    assert names_shown(page) == []
    assert status.inner_text() == "0 of 330 columns found"


def test_pages_of_the_table_hold_all_columns_once(open_page, studies):
    page = open_page("planted")
    page.get_by_role("button", name="All columns").first.click()
    found = names_shown(page)
    assert page.locator("#previous").is_disabled()
    while page.locator("#next").is_enabled():
        page.get_by_role("button", name="Next").click()
        found += names_shown(page)
    assert found == best_names(studies["planted"])
    assert page.locator("#page").inner_text() == "Page 14 of 14"
    page.get_by_role("button", name="Previous").click()
    assert page.locator("#page").inner_text() == "Page 13 of 14"


@pytest.mark.parametrize("name", ["planted", "hostile"])
def test_download_is_the_ranking(open_page, studies, name):
    page = open_page(name)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename.endswith("-ranking.csv")
    text = download.value.path().read_bytes().decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    selector = studies[name].selector
    assert [row["name"] for row in rows] == best_names(studies[name])
    assert [int(row["rank"]) for row in rows] == list(range(1, len(rows) + 1))
    assert [float(row["score"]) for row in rows] == selector.scores_[np.argsort(selector.ranking_)].tolist()
    assert [row["selected"] for row in rows].count("true") == selector.n_features_


def test_scores_tell_the_rank_under_the_pointer(open_page, studies):
    page = open_page("digits")
    move_over(page, "#scores-drawing", across=0.0)
    name, rank, score = tip_lines(page)
    assert (name, rank) == (best_names(studies["digits"])[0], "Rank 1")
    assert float(score.removeprefix("Score ")) == pytest.approx(studies["digits"].selector.scores_.max(), rel=1e-3)
    page.mouse.move(1, 1)
    playwright.expect(page.locator("#tip")).to_be_hidden()


def test_scores_show_all_columns_when_asked(open_page):
    page = open_page("planted")
    move_over(page, "#scores-drawing", across=0.99)
    assert tip_lines(page)[1] == "Rank 120"
    page.get_by_role("group", name="Ranks shown").get_by_role("button", name="All columns").click()
    move_over(page, "#scores-drawing", across=0.99)
    assert tip_lines(page)[1] == "Rank 330"


def test_smallest_scores_are_drawn(open_page, studies):
    page = open_page("denormal")
    scores = np.sort(studies["denormal"].selector.scores_)[::-1]
    assert 0.0 < scores[-1] < scores[0] < 1e-310
    heights = [float(number) for number in re.findall(r"[ML][\d.]+ ([\d.]+)", drawn_path(page, "line"))]
    shares = (scores - scores[-1]) / (scores[0] - scores[-1])
    np.testing.assert_allclose(heights, 270 - shares * (270 - 36), atol=0.1)


@pytest.mark.parametrize("width", [320, 1280])
def test_long_exponents_stay_in_the_card(open_page, width):
    page = open_page("denormal", width=width)
    card = page.locator("#scores").bounding_box()["x"]
    texts = page.locator("#scores-drawing text")
    assert texts.filter(has_text="e-319").count() == 1
    assert min(texts.evaluate_all("all => all.map(text => text.getBoundingClientRect().x)")) > card
    assert page.locator("#scores-drawing svg").evaluate("svg => getComputedStyle(svg).overflow") == "visible"


def test_area_of_the_selected_ends_at_the_cut(open_page):
    page = open_page("denormal")
    cut = float(page.locator("#scores-drawing line.cut").get_attribute("x1"))
    area, line = (
        page.locator(f"#scores-drawing path.{kind}").evaluate("path => [path.getBBox().x, path.getBBox().width]")
        for kind in ("area", "line")
    )
    assert sum(area) == pytest.approx(cut, abs=0.1)
    assert area == pytest.approx([line[0], line[1] / 2], abs=0.1)  # two of four columns


def drawn_path(page, kind):
    return page.locator(f"#scores-drawing path.{kind}").get_attribute("d")


def test_agreement_and_r2_are_told(open_page, studies):
    page = open_page("digits")
    selector = studies["digits"].selector
    curve, r2 = selector.alignment_curve_, selector.r2_curve_
    move_over(page, "#structure-drawing", across=0.99)
    assert tip_lines(page)[:2] == [f"Agreement {curve[-1]:.3f} of the best {len(curve)}", f"R² {r2[-1]:.3f}"]
    assert page.locator("#structure-drawing .cut-text").text_content() == f"{curve[14]:.2f} with 15"
    assert page.locator("#structure-drawing path.line").count() == 2
    assert page.locator("#structure-drawing path.line.beside").count() == 1


def test_structure_without_embedding_is_a_sentence(open_page):
    page = open_page("planted")
    assert "LaplacianScore learns no embedding" in page.locator("#structure").inner_text()
    assert page.locator("#convergence").count() == 0
    assert "principal components" in page.locator("#samples figcaption").inner_text()


def test_samples_tell_label_cluster_and_group(open_page):
    page = open_page("planted")
    page.locator("#samples-drawing").focus()
    page.keyboard.press("ArrowRight")
    label, cluster, group = tip_lines(page)
    assert label == "cell 0"
    assert re.fullmatch(r"Cluster: [1-9]", cluster)
    assert re.fullmatch(r"planted: [012]", group)
    marker = page.locator("#samples-drawing .marker").bounding_box()
    page.keyboard.press("Escape")
    playwright.expect(page.locator("#tip")).to_be_hidden()
    page.mouse.move(marker["x"] + 7, marker["y"] + 7)
    assert len(tip_lines(page)) == 3


def test_samples_are_stepped_through_by_keys_and_spoken(open_page):
    page = open_page("planted")
    page.locator("#samples-drawing").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.locator("#spoken").text_content().startswith("cell 1, Cluster: ")
    page.keyboard.press("Tab")
    playwright.expect(page.locator("#tip")).to_be_hidden()


def test_samples_change_with_dimension_colour_and_legend(open_page):
    page = open_page("digits")
    drawn = [picture_of(page, "#samples-drawing")]
    for label, place in (("Vertical", 2), ("Colour", 1)):
        page.locator("#samples-controls").get_by_label(label).select_option(index=place)
        drawn.append(picture_of(page, "#samples-drawing"))
    assert page.locator("#samples-legend button").all_inner_texts() == [str(digit) for digit in range(10)]
    page.locator("#samples-legend button").nth(3).click()
    drawn.append(picture_of(page, "#samples-drawing"))
    assert page.locator("#samples-legend button[aria-pressed=true]").inner_text() == "3"
    page.locator("#samples-legend button").nth(3).click()
    drawn.append(picture_of(page, "#samples-drawing"))
    assert len(set(drawn[:4])) == 4
    assert drawn[4] == drawn[2]


def test_caption_tells_what_the_colours_are(open_page):
    page = open_page("digits")
    caption, choice = page.locator("#samples figcaption"), page.locator("#samples-controls").get_by_label("Colour")
    at_first = caption.inner_text()
    assert "Colours and shapes show 10 clusters by k-means" in at_first
    choice.select_option("digit")
    assert "clusters" not in caption.inner_text()
    assert "Colours and shapes show the values of the column chosen above." in caption.inner_text()
    choice.select_option("Cluster")
    assert caption.inner_text() == at_first


@pytest.mark.parametrize(("name", "lined"), [("digits", True), ("clusters", False)])
def test_lines_between_clusters_are_drawn_where_they_are_few(open_page, name, lined):
    page = open_page(name, color_scheme="light")
    assert (orange_pixels(page) > 0) == lined


def orange_pixels(page):
    """In the map of neighbours, inside of the bands; the shades of its cells are all more blue than red."""
    return page.evaluate(
        """() => {
            const canvas = document.querySelector("#blocks-drawing canvas");
            const { data } = canvas.getContext("2d").getImageData(11, 11, canvas.width - 11, canvas.height - 11);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) count += data[i] > data[i + 2] + 20;
            return count;
        }"""
    )


def picture_of(page, drawing):
    return page.evaluate("drawing => document.querySelector(drawing + ' canvas').toDataURL()", drawing)


@pytest.mark.parametrize("drawing", ["#blocks-drawing", "#redundancy-drawing", "#image-drawing", "#scores-drawing"])
def test_tooltip_stays_in_the_window(open_page, drawing):
    page = open_page("digits", width=400, height=500)
    for corner in [(0.06, 0.06), (0.98, 0.06), (0.06, 0.98), (0.98, 0.98)]:
        page.mouse.move(1, 1)
        playwright.expect(page.locator("#tip")).to_be_hidden()
        move_over(page, drawing, *corner)
        assert tip_lines(page)
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 400
        assert box["y"] + box["height"] <= 500


def test_neighbours_tell_clusters(open_page):
    page = open_page("digits")
    page.locator("#blocks-drawing").focus()
    page.keyboard.press("ArrowDown")
    pair, share = tip_lines(page)
    assert pair == "From cluster 1 to cluster 1"
    assert re.fullmatch(r"\d+\.\d\s% of the neighbours of these samples", share)


def test_redundancy_tells_both_names_in_either_order(open_page, studies):
    page = open_page("digits")
    names = best_names(studies["digits"])
    page.locator("#redundancy-drawing").focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    first, second, value = tip_lines(page)
    assert (first, second) == (names[0], names[1])
    chosen = studies["digits"].X[:, np.argsort(studies["digits"].selector.ranking_)[:2]]
    assert value == f"Absolute correlation {abs(np.corrcoef(chosen.T)[0, 1]):.2f}"
    before = picture_of(page, "#redundancy-drawing")
    page.get_by_role("button", name="By similarity").click()
    assert picture_of(page, "#redundancy-drawing") != before
    move_over(page, "#redundancy-drawing", 0.5, 0.5)
    assert set(tip_lines(page)[:2]) <= set(names[:15])


def test_convergence_tells_the_objective_of_an_iteration(open_page, studies):
    page = open_page("digits")
    history = studies["digits"].selector.objective_history_
    page.locator("#convergence-drawing").focus()
    page.keyboard.press("ArrowRight")
    iteration, objective = tip_lines(page)
    assert iteration == "Iteration 1"
    assert objective.startswith("Objective ")
    assert float(objective.split()[-1]) == pytest.approx(history[0], rel=5e-3)


def test_picture_tells_the_pixel(open_page, studies):
    page = open_page("digits")
    selector = studies["digits"].selector
    move_over(page, "#image-drawing canvas", 2.5 / 8, 3.5 / 8)
    rank = selector.ranking_[3 * 8 + 2]
    state = "selected" if rank <= 15 else "not selected"
    assert tip_lines(page)[:3] == ["pixel 3 2", "Row 4, column 3", f"Rank {rank}, {state}"]


def test_touch_shows_the_tooltip_and_touch_elsewhere_hides_it(open_page):
    page = open_page("digits", width=400, has_touch=True, is_mobile=True)
    page.locator("#redundancy-drawing canvas").tap()
    assert len(tip_lines(page)) == 3
    page.locator("#redundancy-title").tap()
    playwright.expect(page.locator("#tip")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("by_button", [False, True])
def test_both_themes_have_contrast(open_page, theme, by_button):
    system = {"light": "dark", "dark": "light"}[theme] if by_button else theme
    page = open_page("digits", color_scheme=system)
    if by_button:
        page.get_by_role("button", name="Dark theme").click()
    assert page.get_by_role("button", name="Dark theme").get_attribute("aria-pressed") == str(theme == "dark").lower()
    paper = luminance(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert paper > 0.8 if theme == "light" else paper < 0.05
    page.locator("#redundancy-drawing").focus()
    page.keyboard.press("ArrowRight")
    contrasts = {selector: contrast(page, selector) for selector in [*TEXTS, "#tip", ".choice [aria-pressed=true]"]}
    assert {selector: value for selector, value in contrasts.items() if value < 4.5} == {}
    assert contrast_of_text(page, "#scores-drawing .cut-text") >= 4.5
    assert contrast_of_text(page, "#scores-drawing text") >= 4.5


def test_theme_redraws_and_is_remembered(open_page):
    page = open_page("digits", color_scheme="light")
    before = picture_of(page, "#samples-drawing")
    page.get_by_role("button", name="Dark theme").click()
    assert picture_of(page, "#samples-drawing") != before
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def luminance(color):
    channels = [int(value) / 255 for value in re.findall(r"\d+", color)[:3]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(page, selector):
    """Of a text and the nearest background that is not transparent."""
    colors = page.locator(selector).first.evaluate(
        """node => {
            let behind = node;
            while (/, 0\\)|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
            return [getComputedStyle(node).color, getComputedStyle(behind).backgroundColor];
        }"""
    )
    return ratio(*colors)


def contrast_of_text(page, selector):
    fill = page.locator(selector).first.evaluate("node => getComputedStyle(node).fill")
    return ratio(fill, page.locator(".card").first.evaluate("node => getComputedStyle(node).backgroundColor"))


def ratio(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", list(STUDIES))
def test_no_width_scrolls_sideways(open_page, name):
    page = open_page(name)
    for width in (320, 400, 800, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        page.wait_for_selector("html[data-ready=true]")
        page.get_by_role("button", name="All columns").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        rights = page.locator("svg, canvas").evaluate_all("all => all.map(node => node.getBoundingClientRect().right)")
        assert max(rights) <= width


def test_drawings_follow_the_width_of_the_window(open_page):
    page = open_page("digits", width=1280)
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function("document.querySelector('#scores-drawing svg').getBoundingClientRect().width < 400")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_hostile_names_are_shown_as_text(open_page, studies):
    page = open_page("hostile")
    titles = page.locator("#table td.name").evaluate_all("cells => cells.map(cell => cell.title)")
    assert titles == best_names(studies["hostile"])
    assert page.locator("img, b, i, main script").count() == 0
    page.locator("#samples-drawing").focus()
    page.keyboard.press("ArrowRight")
    assert tip_lines(page)[0] == HOSTILE[0]
    page.keyboard.press("ArrowRight")
    assert tip_lines(page)[0] == HOSTILE[1]
    assert page.locator("#tip *:not(div)").count() == 0


def test_long_name_does_not_break_the_layout(open_page):
    page = open_page("hostile", width=1280)
    cell = page.locator(f"td.name[title='{LONG}']")
    assert cell.bounding_box()["height"] < 60
    assert cell.bounding_box()["width"] < 1000
    place = best_names(hostile_study()).index(LONG)
    page.locator("#scores-drawing").focus()
    for _ in range(place + 1):
        page.keyboard.press("ArrowRight")
    assert tip_lines(page)[0] == LONG
    assert page.locator("#tip").bounding_box()["height"] < 200
    assert len(page.locator("#spoken").text_content()) < 300


def test_keyboard_reaches_everything(open_page):
    page = open_page("digits")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reached = tabbed_through(page)
    wanted = page.evaluate(
        "[...document.querySelectorAll('main button:enabled, main input, main select, main [tabindex=\"0\"]')].length"
    )
    assert len(reached) == wanted
    assert all(outline for _, outline in reached)


def tabbed_through(page):
    """Everything in the main part that Tab stops at, and whether it is outlined."""
    reached = []
    while True:
        page.keyboard.press("Tab")
        inside, name, outlined = page.evaluate(
            """() => {
                const node = document.activeElement;
                const inside = document.querySelector("main").contains(node);
                return [inside, node.outerHTML.slice(0, 80), getComputedStyle(node).outlineStyle !== "none"];
            }"""
        )
        if not inside:
            return reached
        reached.append((name, outlined))


@pytest.mark.parametrize("name", list(STUDIES))
def test_everything_has_an_accessible_name(open_page, name):
    page = open_page(name)
    for role in ("button", "combobox", "searchbox", "img", "region", "group", "navigation"):
        for node in page.get_by_role(role).all():
            snapshot = node.aria_snapshot()
            assert re.match(rf"- '?{role} \"", snapshot), snapshot[:200]
    levels = [
        int(level) for level in page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => h.tagName[1])")
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1
    assert page.locator("html").get_attribute("lang") == "en"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))
    for landmark in ("banner", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1


def test_without_scripts_the_best_columns_are_listed(open_page, studies):
    page = open_page("planted", scripts=False)
    assert "need JavaScript, which is disabled" in page.locator("noscript").inner_text()
    assert page.locator("noscript li").all_inner_texts() == best_names(studies["planted"])[:20]
    assert page.locator("#settings").is_visible()
    assert not page.locator("#theme").is_visible()
    assert not page.locator("#search").is_visible()


def test_commands_can_be_copied(open_page, studies):
    page = open_page("digits", permissions=["clipboard-read", "clipboard-write"])
    button = page.locator("[data-copies=command]")
    button.click()
    playwright.expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == studies["digits"].command


def test_commands_are_selected_where_copying_is_forbidden(open_page, studies):
    page = open_page("digits")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    button = page.locator("[data-copies=code]")
    button.click()
    playwright.expect(button).to_have_text("Selected")
    assert "n_features_to_select=15" in page.evaluate("getSelection().toString()")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_theme_of_the_system_needs_no_scripts(open_page, theme):
    page = open_page("planted", scripts=False, color_scheme=theme)
    paper = luminance(page.locator("html").evaluate("node => getComputedStyle(node).backgroundColor"))
    assert paper > 0.8 if theme == "light" else paper < 0.05
    assert contrast(page, "h1") >= 4.5


def test_theme_follows_the_system_until_the_button_is_pressed(open_page):
    page = open_page("planted", color_scheme="light")
    papers = []
    for system in ("dark", "light", "dark"):
        page.emulate_media(color_scheme=system)
        papers.append(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert papers[0] == papers[2] != papers[1]
    page.get_by_role("button", name="Dark theme").click()
    page.emulate_media(color_scheme="light")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == papers[1]


def test_print_leaves_controls_out(open_page):
    page = open_page("digits")
    page.emulate_media(media="print")
    assert not page.locator("#theme").is_visible()
    assert not page.locator("#samples-controls").is_visible()
    assert page.locator("#samples-drawing").is_visible()
