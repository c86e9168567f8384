"""The page as people meet it, in Chromium: mouse, touch, keyboard, both themes, small screens, no scripts."""

import csv
import io
import re
from itertools import product

import numpy as np
import pytest
from browsers import LONGEST_WAIT, redrawn, resized, started_browser
from sklearn.datasets import load_digits
from test_report_content import customers_study

from ufselect import MCFS, KernelFSASL, LaplacianScore, MaxVariance
from ufselect.base.significance import LIMITS
from ufselect.datasets import make_planted_clusters
from ufselect.inspection import compare_selectors, gains_of, stability_of
from ufselect.report import SetAside, Study, render_comparison, render_page
from ufselect.significance import column_significance

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

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
TEXTS = ["h1", ".of-test", "figcaption", ".facts dt", "#count", "#theme", "td.rank", "thead th button", "summary"]
TEXTS_OF_A_ROW = ["td.name button", "tr.details p", "td.stands"]


def digits_study():
    X, digits = load_digits(return_X_y=True)
    X, digits = X[:300], digits[:300]
    selector = KernelFSASL(n_features_to_select=15, fdr=0.05).fit(X)
    names = [f"pixel {place // 8} {place % 8}" for place in range(64)]
    command = "ufselect select digits.csv --features 15 --clusters 10"
    shown = {"groups": {"digit": digits}, "notes": ["Ten were given."], "image": (8, 8)}
    stability = stability_of(selector, X)
    return Study(selector, X, names, "digits.csv", command, ordered=True, stability=stability, **shown)


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
    X, clusters, _ = make_planted_clusters(400, 34, 60, 20, random_state=0)
    names = [str(column) for column in range(80)]
    selector = MCFS(n_features_to_select=20, n_clusters=34).fit(X)
    return Study(selector, X, names, "many.csv", "command", groups={"planted": clusters})


def outliers_study():
    X = np.random.default_rng(0).standard_normal((300, 6))
    X[::30] *= 1e4
    return Study(MaxVariance(n_features_to_select=4).fit(X), X, list("abcdef"), "outliers.csv", "command")


def survey_study():
    """Long names that differ in the middle; more columns than are printed, kinds of all sorts, and equal scores."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 200)) * np.linspace(2, 1, 200)
    X[:, 1] = 1.5 * X[:, 0] + 0.01 * X[:, 1]
    X[:, 2] *= 2.0
    X[:, 3], X[:, 150], X[:, 199] = X[::-1, 2], 0.1 * X[:, 2], 1.0
    question = (
        "How satisfied are you with the service that you received from our team in {} at one of our many branches?"
    )
    names = [
        question.format(f"week number {j}" + j % 2 * " of the year, which was like any other,") for j in range(200)
    ]
    roles = [SetAside(f"{kind}_{j}", f"{kind} {j}", kind) for kind in ("id", "date", "text", "code") for j in range(30)]
    return Study(MaxVariance(40).fit(X), X, names, "survey.csv", "command", roles=roles, missing=np.full(200, 0.25))


def study_of(X, count):
    names = [f"gene {column}" for column in range(X.shape[1])]
    selector = KernelFSASL(count, fdr=0.05).fit(X)
    return Study(selector, X, names, "tested.csv", "command")


def noise_study():
    return study_of(np.random.default_rng(0).standard_normal((120, 60)), 8)


def few_found_study():
    """Twelve columns of 5,000 that tell two groups apart."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5000))
    X[:, :12] += 6.0 * rng.permutation(np.arange(200) % 2)[:, None]
    return study_of(X, 20)


def some_samples_study():
    return study_of(make_planted_clusters(20_000, 4, 10, 30, random_state=0).X, 12)


def prices_study():
    X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    wanted = {"costs": np.where(np.arange(40) % 2, 1000.0, 2500.0), "budget": 12_500}
    return Study(KernelFSASL(requirements=wanted).fit(X), X, None, "prices.csv", "command")


def comparison_page():
    X = make_planted_clusters(120, 4, 10, 30, random_state=0).X
    selectors = {"KernelFSASL": KernelFSASL(), "MCFS": MCFS(), "<b>variance": MaxVariance()}
    found = column_significance(X)
    compared = compare_selectors(selectors, X, n_features_to_select=10, n_repeats=2, significance=found)
    return render_comparison(compared, 40, source="planted.csv", command="ufselect compare", notes=[LONG])


# Keeps the texts that are drawn on a canvas.
RECORDED = """
window.texts = [];
const draw = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  window.texts.push(text);
  draw.call(this, text, ...place);
};
"""

STUDIES = {"digits": digits_study, "planted": planted_study, "hostile": hostile_study}
EDGES = {
    "survey": survey_study,
    "denormal": denormal_study,
    "clusters": many_clusters_study,
    "outliers": outliers_study,
    "customers": customers_study,
}
TESTED = {"prices": prices_study, "noise": noise_study, "few": few_found_study, "samples": some_samples_study}


@pytest.fixture(scope="module")
def browser():
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def studies():
    return {name: make() for name, make in (STUDIES | EDGES | TESTED).items()}


@pytest.fixture(scope="module")
def folder_of_pages(studies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, study in studies.items():
        (folder / f"{name}.html").write_text(render_page(study), encoding="utf-8")
    (folder / "comparison.html").write_text(comparison_page(), encoding="utf-8")
    return folder


@pytest.fixture
def open_page(browser, folder_of_pages):
    """Open a page in a window of its own. In the end, no page has complained or asked for anything."""
    contexts, complaints, requests = [], [], []

    def open_page(name, *, width=1280, height=900, scripts=True, recording=False, **options):
        size = {"width": width, "height": height}
        context = browser.new_context(
            viewport=size, java_script_enabled=scripts, reduced_motion="reduce", accept_downloads=True, **options
        )
        contexts.append(context)
        context.set_default_timeout(LONGEST_WAIT)
        page = context.new_page()
        if recording:
            page.add_init_script(RECORDED)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((folder_of_pages / f"{name}.html").as_uri())
        if scripts:
            page.wait_for_selector("html[data-ready=true]")
            redrawn(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    inside = re.compile(rf"({re.escape(folder_of_pages.as_uri())}/\w+\.html|data:|blob:)")
    assert [address for address in requests if not inside.match(address)] == []


def names_shown(page):
    return page.locator("#table td.name button").all_inner_texts()


def best_names(study):
    return [str(study.names[column]) for column in np.argsort(study.selector.ranking_)]


def move_over(page, drawing, across=0.5, down=0.5):
    """Point at a place of the drawing, once the page stands still."""
    page.locator(drawing).scroll_into_view_if_needed()
    box = redrawn(page).locator(drawing).bounding_box()
    page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])


def tip_lines(page):
    tip = page.locator("#tip")
    playwright.expect(tip).to_be_visible()
    redrawn(page)
    return tip.locator("div").all_inner_texts()


HEADLINES = {
    "digits": (r"\d\d of 5\d columns share structure with others", "15 were selected, all of them among these."),
    "noise": (r"No structure was found in 60 columns", "the selection of 8 is arbitrary."),
    "few": (r"1\d of 5,000 columns share structure with others", r"20 were selected, 1\d of them among these."),
    "samples": (r"1\d of 40 columns share structure with others", r"12 were selected, 1\d of them among these."),
}


@pytest.mark.parametrize("name", HEADLINES)
def test_headline_is_the_verdict_and_the_limits_follow(open_page, studies, name):
    page, significance = open_page(name), studies[name].significance
    finding, evidence = HEADLINES[name]
    sentence = page.locator("h1").inner_text().replace("\u00a0", " ")
    assert re.fullmatch(rf"{finding} \(false discovery rate 5 %\)[;:] {evidence}", sentence)
    assert re.fullmatch(rf"{finding}: \w+\.csv", page.title())
    of_test = page.locator(".of-test").inner_text()
    assert of_test == f"{significance.procedure} {LIMITS}"
    assert ("3,000 of 20,000 samples" in of_test) == (name == "samples")
    assert page.locator(".more").count() == (name == "digits")
    for width in (320, 1280):
        assert resized(page, width).evaluate("document.documentElement.scrollWidth") <= width


def test_alignment_is_drawn_with_its_baselines(open_page, studies):
    page = open_page("digits")
    selector = studies["digits"].selector
    assert "have a stability of" in page.locator(".more").inner_text()
    facts = page.locator(".facts").inner_text()
    assert "300 samples × 64 columns" in facts
    assert "KernelFSASL" in facts
    assert page.locator(".notes").inner_text() == "Ten were given."
    drawing = page.locator("#structure-drawing")
    assert [drawing.locator(f"path.{kind}").count() for kind in ("not-found", "main", "r2")] == [1, 1, 1]
    assert drawing.locator("line.level").count() == 1
    legend = page.locator("#structure-legend").inner_text()
    assert re.search(r"best columns\s+random columns not found\s+all columns: 0\.\d\d\s+R²", legend)
    below, main = (drawing.locator(f"path.{kind}").bounding_box() for kind in ("not-found", "main"))
    assert below["y"] > main["y"] + main["height"] / 2
    assert "that of two random columns 0." in page.locator("#redundancy figcaption").inner_text()
    assert "not selected, drawn at random for comparison" in page.locator("#markers figcaption").inner_text()
    assert page.locator("tr.column .chance").count() == 15
    curve, r2 = selector.alignment_curve_, selector.r2_curve_
    move_over(page, "#structure-drawing", across=0.1)
    alignment, not_found, *_ = tip_lines(page)
    assert re.fullmatch(r"Alignment 0\.\d{3} of the best \d", alignment)
    assert re.fullmatch(r"Columns not found 0\.\d{3}", not_found)
    move_over(page, "#structure-drawing", across=0.99)
    alignment, *_, explained, _ = tip_lines(page)
    assert (alignment, explained) == (f"Alignment {curve[-1]:.3f} of the best {len(curve)}", f"R² {r2[-1]:.3f}")
    assert page.locator("#structure-drawing .cut-text").text_content() == f"{curve[14]:.2f} with 15"
    assert open_page("noise").locator("#structure-drawing path.not-found").count() == 0


def test_alignment_by_cost_tells_what_a_budget_buys_by_mouse_and_keys(open_page, studies):
    page, selector = open_page("prices"), studies["prices"].selector
    drawing, reached = page.locator("#costs-drawing"), selector.alignment_curve_[selector.n_features_ - 1]
    cost = f"{selector.cost_:,.0f}"
    assert drawing.locator(".cut-text").text_content() == f"{reached:.2f} for {cost} within 12,500"
    line, dot = (drawing.locator(kind).bounding_box() for kind in ("line.cut", "circle.dot"))
    assert dot["x"] < line["x"] + 4
    assert re.fullmatch(r"M[\d.]+ [\d.]+(H[\d.]+V[\d.]+)+H[\d.]+", drawing.locator("path.main").get_attribute("d"))
    frame = drawing.bounding_box()
    move_over(page, "#costs-drawing", across=(line["x"] - 1 - frame["x"]) / frame["width"])
    alignment, columns = tip_lines(page)
    assert alignment == f"Alignment {reached:.3f} for {cost}, as selected"
    assert columns.startswith(f"{selector.n_features_} columns: x")
    drawing.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#spoken").text_content().startswith("Alignment 0.")
    page.locator("[data-key=cost]").click()
    assert page.locator("td.cost").first.inner_text() == "1,000"
    assert contrast(page, "#costs-drawing .cut-text", "fill") >= 4.5


def test_q_sorts_tells_what_it_means_and_marks_columns_that_are_not_found(open_page, studies):
    page = open_page("few")
    significance, best = studies["few"].significance, best_names(studies["few"])
    head = page.locator("[data-key=q]")
    rate = "at most 5 % counts as found"
    assert head.get_attribute("title") == (
        f"Smallest false discovery rate at which the column is found to share structure with others; {rate}"
    )
    n_found = significance.n_found
    cells = page.locator("td.q")
    assert [("not found" in text) for text in cells.all_inner_texts()] == [False] * n_found + [True] * (20 - n_found)
    head.click()
    assert page.locator("th.q").get_attribute("aria-sort") == "ascending"
    assert names_shown(page)[:n_found] == sorted(
        best[:n_found], key=lambda name: (significance.q_values[studies["few"].names.index(name)], best.index(name))
    )
    head.click()
    assert "not found" in cells.first.inner_text()
    assert not cells.last.locator(".not-found").count()
    page.locator(f"td.name[title='{best[n_found]}']").click()
    assert "It is not found to share structure with others (q-value" in page.locator("tr.details").inner_text()
    page.get_by_role("button", name="All columns").first.click()
    assert cells.locator(".not-found").count() == 25
    untested = open_page("planted")
    assert untested.locator("th.q").count() == untested.locator(".not-found").count() == 0


def figures_of(page):
    """The pictures, by name; those of lines as text."""
    names = ("structure", "spectrum", "samples", "markers", "redundancy", "image")
    script = """name => {
        const drawing = document.getElementById(`${name}-drawing`);
        return drawing.querySelector("canvas")?.toDataURL() ?? drawing.innerHTML;
    }"""
    return {name: page.evaluate(script, name) for name in names}


def test_click_on_a_row_explains_the_column_and_marks_it_in_all_figures(open_page, studies):
    page = open_page("digits")
    before = figures_of(page)
    second = page.locator("tr.column").nth(1)
    second.locator("td.rank").click()
    details = page.locator("tr.details")
    study = studies["digits"]
    name = best_names(study)[1]
    assert details.locator("p").first.inner_text() == name
    column = list(study.names).index(name)
    assert f"by itself: {study.selector.alignments_[column]:.3f} of 1." in details.inner_text()
    assert "Most correlated selected columns: " in details.inner_text()
    assert second.locator("button").get_attribute("aria-expanded") == "true"
    after = figures_of(page)
    assert [key for key in before if before[key] == after[key]] == []
    assert page.locator("#samples-coloring").inner_text() == f"Colours show the values of {name}."
    assert page.locator("#structure-drawing line.marked").count() == 1
    second.locator("td.rank").click()
    assert details.count() == 0
    assert figures_of(page) == before


def test_a_category_is_one_row_with_its_levels(open_page, studies):
    page, selector = open_page("customers"), studies["customers"].selector
    assert page.inner_text("#count") == "3 selected columns."
    page.fill("#search", "gold")
    row = page.locator("tr.column")
    assert (row.count(), row.locator("td.name").inner_text()) == (1, "plan")
    assert sorted(row.locator("td.values").inner_text().split(", ")) == ["basic", "gold", "plus"]
    row.click()
    assert "Levels: " in page.inner_text("tr.details")
    best = selector.top_features()[["plan" in name for name in selector.top_features()].index(True)]
    assert page.inner_text("#samples-coloring") == f"Colours show the values of {best}."
    with page.expect_download() as download:
        page.click("#download")
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12
    assert sum("true" in line.split(",") for line in lines) == 3


def test_enter_opens_a_row_and_closes_it_again(open_page, studies):
    page = open_page("planted")
    button = page.locator("tr.column button").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("tr.details p").first.inner_text() == best_names(studies["planted"])[2]
    assert "learns no structure to align columns with" in page.locator("tr.details").inner_text()
    page.locator("tr.column").nth(3).click()
    assert page.locator("tr.details").count() == 1
    assert page.locator("tr.details p").first.inner_text() == best_names(studies["planted"])[3]
    page.locator("tr.column button").nth(3).focus()
    page.keyboard.press("Enter")
    assert page.locator("tr.details").count() == 0


def test_34_clusters_are_grouped_and_no_two_colours_are_alike(open_page):
    page = open_page("clusters")
    legend = page.locator("#samples-legend button")
    assert legend.count() == 12
    assert (
        "34 clusters by k-means on these coordinates, merged into 12 groups"
        in page.locator("#samples figcaption").inner_text()
    )
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        colors = page.locator("html").evaluate(
            "root => [...Array(12).keys()].map(i => getComputedStyle(root).getPropertyValue(`--group-${i}`))"
        )
        assert len(set(colors)) == 12
        channels = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors])
        distances = np.linalg.norm(channels[:, None] - channels, axis=2)[np.triu_indices(12, 1)]
        assert distances.min() > 40


def test_ten_outliers_are_rings_at_the_edge(open_page):
    page = open_page("outliers")
    assert "Rings at the edge are outliers beyond the axes." in page.locator("#samples figcaption").inner_text()
    page.locator("#samples-drawing").focus()
    page.keyboard.press("ArrowRight")  # the first sample is an outlier
    assert tip_lines(page)[-1] == "Far outside, drawn at the edge"
    drawing, marker = (page.locator(f"#samples-drawing{part}").bounding_box() for part in ("", " .marker"))
    across = (marker["x"] - drawing["x"]) / drawing["width"], (marker["y"] - drawing["y"]) / drawing["height"]
    assert min(min(share, 1 - share) for share in across) < 0.05
    page.keyboard.press("ArrowRight")
    assert "Far outside" not in " ".join(tip_lines(page))


def test_methods_stand_side_by_side(open_page):
    page = open_page("comparison")
    assert page.locator("h1").inner_text().startswith("3 methods, 10 of 40 columns each: ")
    rows = page.locator(".measures tbody th").all_inner_texts()
    assert rows == ["KernelFSASL", "MCFS", "<b>variance", "random baseline"]
    assert page.locator(".measures .baseline th").inner_text() == "random baseline"
    assert page.locator(".measures thead th").nth(1).inner_text() == "found"
    shares = [int(text.rstrip("\u00a0%")) for text in page.locator(".measures td:nth-child(2)").all_inner_texts()]
    assert shares[:3] == [100, 100, 100]
    assert shares[3] < 50
    assert page.locator("#alignment-drawing path.line").count() == 2
    assert page.locator("#alignment-legend").inner_text().split() == ["KernelFSASL", "MCFS"]
    move_over(page, "#alignment-drawing", across=0.3)
    assert [line.split()[0] for line in tip_lines(page)] == ["Best", "KernelFSASL", "MCFS"]
    page.locator("#overlap-drawing").focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert tip_lines(page)[:2] == ["KernelFSASL", "MCFS"]
    assert "random selections share 14" in page.locator("#overlap figcaption").inner_text()
    for width in (320, 400, 1280):
        assert resized(page, width).evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("b").count() == 0


def test_phone_shows_the_columns_that_matter(open_page):
    page = open_page("digits", width=400)
    shown = page.locator("thead th").filter(visible=True).all_inner_texts()
    assert [text.strip() for text in shown] == ["Rank", "Name", "Values", "q", "Stability"]
    page.locator("tr.column").first.click()
    assert re.search(r"Distinct \d+, Gain 0\.\d+, R² 0\.\d\d\.", page.locator("tr.details").inner_text())
    scroller = page.locator("#columns .scroller")
    page.get_by_role("button", name="All columns").first.click()
    page.locator("[data-key=q]").dblclick()
    assert page.locator("td.q").filter(has_text="not found").first.is_visible()
    redrawn(page)
    assert scroller.evaluate("node => node.scrollWidth <= node.clientWidth + 1")


def test_table_sorts_by_every_head_and_by_keyboard(open_page, studies):
    page = open_page("digits")
    study = studies["digits"]
    best = best_names(study)[:15]
    gains = dict(zip(best, np.diff(study.selector.alignment_curve_[:15], prepend=0.0), strict=True))
    page.get_by_role("button", name="Gain").focus()
    page.keyboard.press("Enter")
    assert names_shown(page) == sorted(best, key=lambda name: -gains[name])
    page.keyboard.press("Space")
    assert names_shown(page) == sorted(best, key=lambda name: gains[name])
    assert page.evaluate("document.activeElement.dataset.key") == "gain"
    page.get_by_role("button", name="All columns").first.click()
    page.get_by_label("Search").fill("3")
    for key, order in product(["rank", "gain", "stability", "distinct"], ["ascending", "descending"]):
        head = page.locator(f"[data-key={key}]")
        while page.locator(f"th.{key}").get_attribute("aria-sort") != order:
            head.click()
        texts = page.locator(f"td.{key}").all_inner_texts()
        numbers = [float(text.rstrip("\u00a0%")) for text in texts if text != "–"]
        assert numbers == sorted(numbers, reverse=order == "descending")
        assert texts[len(numbers) :] == ["–"] * (len(texts) - len(numbers))


def test_all_columns_are_on_pages_and_found_by_name(open_page, studies):
    page = open_page("planted")
    page.get_by_role("button", name="All columns").first.click()
    best = best_names(studies["planted"])
    found = names_shown(page)
    assert page.locator("#previous").is_disabled()
    while page.locator("#next").is_enabled():
        page.get_by_role("button", name="Next").click()
        found += names_shown(page)
    assert found == best
    assert page.locator("#page").inner_text() == "Page 14 of 14"
    page.get_by_role("button", name="Previous").click()
    assert page.locator("#page").inner_text() == "Page 13 of 14"
    page.get_by_label("Search").fill("GENE 32")
    expected = [name for name in best if "gene 32" in name]
    assert names_shown(page) == expected
    status = page.get_by_role("status")
    assert status.inner_text() == f"{len(expected)} of 330 columns found."
    page.get_by_label("Search").fill("nothing like it")
    assert names_shown(page) == []
    assert status.inner_text() == "0 of 330 columns found."
    page.get_by_label("Search").fill(best[300])  # far behind
    page.locator("tr.column").first.click()
    assert "Not selected. What it contributes is shown by: ufselect explain" in page.locator("tr.details").inner_text()
    assert page.locator("#scores-drawing circle.marked").count() == 0  # beyond the ranks shown


@pytest.mark.parametrize("name", ["hostile", "digits", "few"])
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
    assert ("q" in rows[0]) == (name != "hostile")
    if name != "hostile":
        q_values = selector.q_values_[np.argsort(selector.ranking_)]
        np.testing.assert_allclose([float(row["q"]) for row in rows], q_values, rtol=1e-3)
    gains = gains_of(selector)
    assert ("gain" in rows[0]) == (gains is not None)
    if gains is not None:
        known = [float(row["gain"]) for row in rows if row["gain"]]
        np.testing.assert_allclose(known, gains, atol=1e-6)


def test_scores_tell_the_rank_under_the_pointer(open_page, studies):
    page = open_page("planted")
    move_over(page, "#scores-drawing", across=0.0)
    name, rank, score = tip_lines(page)
    assert (name, rank) == (best_names(studies["planted"])[0], "Rank 1")
    assert float(score.removeprefix("Score ")) == pytest.approx(studies["planted"].selector.scores_.max(), rel=1e-3)
    page.mouse.move(1, 1)
    playwright.expect(page.locator("#tip")).to_be_hidden()


def test_smallest_scores_are_drawn(open_page, studies):
    page = open_page("denormal")
    scores = np.sort(studies["denormal"].selector.scores_)[::-1]
    assert 0.0 < scores[-1] < scores[0] < 1e-310
    heights = [
        float(number)
        for number in re.findall(r"[ML][\d.]+ ([\d.]+)", page.locator("#scores-drawing path.line").get_attribute("d"))
    ]
    shares = (scores - scores[-1]) / (scores[0] - scores[-1])
    np.testing.assert_allclose(heights, 270 - shares * (270 - 36), atol=0.1)


def test_samples_tell_label_cluster_and_group_by_keys_and_pointer(open_page):
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
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.locator("#spoken").text_content().startswith("cell 1, Cluster: ")
    page.keyboard.press("Tab")
    playwright.expect(page.locator("#tip")).to_be_hidden()


def test_samples_change_with_dimension_colour_and_legend(open_page):
    page = open_page("digits")
    caption, controls = page.locator("#samples figcaption"), page.locator("#samples-controls")
    at_first = caption.inner_text()
    assert "Colours show 12 clusters by k-means" in at_first
    drawn = [picture_of(page, "#samples-drawing")]
    for label, place in (("Vertical", 2), ("Colour", 1)):
        controls.get_by_label(label).select_option(index=place)
        drawn.append(picture_of(page, "#samples-drawing"))
    assert "clusters" not in caption.inner_text()
    assert "Colours and shapes show the values of the column chosen above." in caption.inner_text()
    assert page.locator("#samples-legend button").all_inner_texts() == [str(digit) for digit in range(10)]
    page.locator("#samples-legend button").nth(3).click()
    drawn.append(picture_of(page, "#samples-drawing"))
    assert page.locator("#samples-legend button[aria-pressed=true]").inner_text() == "3"
    page.locator("#samples-legend button").nth(3).click()
    drawn.append(picture_of(page, "#samples-drawing"))
    assert len(set(drawn[:4])) == 4
    assert drawn[4] == drawn[2]
    controls.get_by_label("Colour").select_option("Cluster")
    assert caption.inner_text() == at_first


def picture_of(page, drawing):
    return page.evaluate("drawing => document.querySelector(drawing + ' canvas').toDataURL()", drawing)


@pytest.mark.parametrize("drawing", ["#markers-drawing", "#redundancy-drawing", "#image-drawing", "#structure-drawing"])
def test_tooltip_stays_in_the_window(open_page, drawing):
    page = open_page("digits", width=400, height=500)
    for corner in [(0.4, 0.09), (0.98, 0.09), (0.4, 0.98), (0.98, 0.98)]:
        page.mouse.move(1, 1)
        playwright.expect(page.locator("#tip")).to_be_hidden()
        move_over(page, drawing, *corner)
        assert tip_lines(page)
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 400
        assert box["y"] + box["height"] <= 500


def test_means_redundancy_spectrum_and_picture_tell_what_is_under_pointer_or_keys(open_page, studies):
    page, study = open_page("digits"), studies["digits"]
    page.locator("#markers-drawing").focus()
    page.keyboard.press("ArrowDown")
    name, mean, rank = tip_lines(page)
    assert name in best_names(study)[:15]
    assert re.fullmatch(r"Cluster \d+: [+−]\d\.\d\d standard deviations", mean)
    assert rank.endswith(", selected")
    page.locator("#redundancy-drawing").focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    first, second, value = tip_lines(page)
    names = list(study.names)
    correlation = np.corrcoef(study.X[:, [names.index(first), names.index(second)]].T)[0, 1]
    assert value == f"Absolute correlation {abs(correlation):.2f}"
    assert first != second
    move_over(page, "#spectrum-drawing", across=0.99)
    name, mean, rank = tip_lines(page)
    assert name == study.names[-1]
    assert mean == f"Mean {study.X[:, -1].mean():.4g} ± {study.X[:, -1].std():.4g}"
    assert rank == f"Rank {study.selector.ranking_[-1]}, not selected"
    assert page.locator("#spectrum-drawing line.mark").count() == 15
    move_over(page, "#image-drawing canvas", 2.5 / 8, 3.5 / 8)
    rank = study.selector.ranking_[3 * 8 + 2]
    state = "selected" if rank <= 15 else "not selected"
    assert tip_lines(page)[:3] == ["pixel 3 2", "Row 4, column 3", f"Rank {rank}, {state}"]


def test_touch_shows_the_tooltip_and_touch_elsewhere_hides_it(open_page):
    page = open_page("digits", width=400, has_touch=True, is_mobile=True)
    page.locator("#redundancy-drawing canvas").tap(position={"x": 250, "y": 60})
    assert len(tip_lines(page)) == 3
    page.locator("#redundancy-title").tap()
    playwright.expect(page.locator("#tip")).to_be_hidden()


@pytest.mark.parametrize(("theme", "by_button"), [("light", False), ("dark", False), ("dark", True)])
def test_both_themes_have_contrast(open_page, theme, by_button):
    system = {"light": "dark", "dark": "light"}[theme] if by_button else theme
    page = open_page("digits", color_scheme=system)
    if by_button:
        page.get_by_role("button", name="Dark theme").click()
    assert page.get_by_role("button", name="Dark theme").get_attribute("aria-pressed") == str(theme == "dark").lower()
    paper = luminance(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert paper > 0.8 if theme == "light" else paper < 0.05
    page.locator("tr.column").first.click()
    page.locator("#redundancy-drawing").focus()
    page.keyboard.press("ArrowRight")
    wanted = [*TEXTS, *TEXTS_OF_A_ROW, "#tip", ".choice [aria-pressed=true]"]
    contrasts = {selector: contrast(page, selector) for selector in wanted}
    assert {selector: value for selector, value in contrasts.items() if value < 4.5} == {}
    assert contrast(page, "#structure-drawing .cut-text", "fill") >= 4.5
    assert contrast(page, "#structure-drawing text", "fill") >= 4.5


def test_theme_redraws_and_is_remembered_and_paper_is_white(open_page):
    page = open_page("digits", color_scheme="light")
    before = picture_of(page, "#samples-drawing")
    page.get_by_role("button", name="Dark theme").click()
    assert picture_of(page, "#samples-drawing") != before
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.emulate_media(media="print")
    assert not page.locator("#theme").is_visible()
    assert luminance(page.locator("h1").evaluate("node => getComputedStyle(node).color")) < 0.05


def test_long_names_are_whole_or_differ_wherever_they_are_shown(open_page, studies):
    page = open_page("survey", recording=True)
    whole = best_names(studies["survey"])[:25]
    shown = names_shown(page)
    assert [text for text in shown if "…" not in text] == [name for name in whole if len(name) <= 120]
    assert len(set(shown)) == 25
    assert page.locator("#table td.name").evaluate_all("cells => cells.map(cell => cell.title)") == whole
    texts = page.evaluate("window.texts.filter((text) => text.includes('…'))")
    means, redundancy = texts[:43], texts[43:83]  # with three controls
    assert (len(set(means)), len(set(redundancy))) == (43, 40)
    assert len(texts) == 83
    for button in page.locator("#table td.name button").all()[:3]:
        assert button.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_ties_and_near_copies_are_explained_below_the_name(open_page, studies):
    page, names = open_page("survey"), studies["survey"].names
    notes = dict(
        zip(
            page.locator("td.name:has(.note)").evaluate_all("cells => cells.map(cell => cell.title)"),
            page.locator("td.name .note").all_inner_texts(),
            strict=True,
        )
    )
    ranks = studies["survey"].selector.ranking_
    assert ranks[3] == ranks[2] + 1
    assert notes.pop(names[3]) == f"tied with rank {ranks[2]}"
    assert re.fullmatch(rf".*week number 150 .* says the same; tied with rank {ranks[3]}", notes.pop(names[2]))
    assert re.fullmatch(r"near-copy of …1 of the year.*\(1\.00\)", notes.popitem()[1])
    assert notes == {}


SHEET = {"width": 703, "height": 1032}  # A4 less margins of 12 mm, in pixels


@pytest.mark.parametrize("name", [*STUDIES, "noise", "survey", "comparison"])
def test_the_page_prints_on_one_sheet(open_page, name):
    page = open_page(name, color_scheme="dark")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) == 1
    page.set_viewport_size(SHEET)
    page.emulate_media(media="print")
    redrawn(page)
    figures = page.locator(".figures > section")
    assert [figure.is_visible() for figure in figures.all()] == [True] + [False] * (figures.count() - 1)
    for hidden in (".notes", "#settings", ".controls", "footer", ".count"):
        assert not page.locator(hidden).first.is_visible(), hidden
    assert figures.first.locator("svg, canvas").bounding_box()["height"] > 90
    tables = page.locator("#measures, #columns, #left-out")
    for table in tables.all():
        assert table.bounding_box()["y"] + table.bounding_box()["height"] <= SHEET["height"]


def test_print_has_the_best_columns_and_names_what_it_leaves_out(open_page, studies):
    page = open_page("survey")
    page.get_by_role("button", name="All columns").first.click()
    page.get_by_label("Search").fill("week number 7")
    page.locator("tr.column").first.click()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    best = best_names(studies["survey"])
    printed = page.locator("#table td.name").filter(visible=True)
    assert printed.evaluate_all("cells => cells.map(cell => cell.title)") == best[:10]
    also = page.locator("p.in-print").text_content()
    assert also == f"Also selected: {', '.join(best[10:40])}."
    rows = page.locator("#left-out tbody th").filter(visible=True).all_inner_texts()
    assert rows[:5] == ["id (30)", "date (30)", "text (30)", "code (30)", "constant (1)"]
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert names_shown(page)[0].count("week number 7")
    assert page.locator("#search").input_value() == "week number 7"


def luminance(color):
    channels = [int(value) / 255 for value in re.findall(r"\d+", color)[:3]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(page, selector, color="color"):
    """Of a text and the nearest background that is not transparent."""
    colors = page.locator(selector).first.evaluate(
        """(node, color) => {
            let behind = node;
            while (/, 0\\)|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
            return [getComputedStyle(node)[color], getComputedStyle(behind).backgroundColor];
        }""",
        color,
    )
    low, high = sorted(map(luminance, colors))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", list(STUDIES))
def test_no_width_scrolls_sideways(open_page, name):
    page = open_page(name)
    for width in (320, 400, 800, 1280):
        resized(page, width).reload()
        page.wait_for_selector("html[data-ready=true]")
        page.get_by_role("button", name="All columns").first.click()
        assert redrawn(page).evaluate("document.documentElement.scrollWidth") <= width
        rights = page.locator("svg, canvas").evaluate_all("all => all.map(node => node.getBoundingClientRect().right)")
        assert max(rights) <= width


def test_hostile_names_are_shown_as_text_and_do_not_break_the_layout(open_page, studies):
    page, best = open_page("hostile", width=1280), best_names(studies["hostile"])
    titles = page.locator("#table td.name").evaluate_all("cells => cells.map(cell => cell.title)")
    assert titles == best
    assert page.locator("img, b, i, main script").count() == 0
    page.locator("#samples-drawing").focus()
    for name in HOSTILE[:2]:
        page.keyboard.press("ArrowRight")
        assert tip_lines(page)[0] == name
    assert page.locator("#tip *:not(div)").count() == 0
    cell = page.locator(f"td.name[title='{LONG}']")
    assert cell.bounding_box()["height"] < 100
    assert cell.bounding_box()["width"] < 1000
    page.locator("#scores-drawing").focus()
    for _ in range(best.index(LONG) + 1):
        page.keyboard.press("ArrowRight")
    assert tip_lines(page)[0] == LONG
    assert page.locator("#tip").bounding_box()["height"] < 200
    assert len(page.locator("#spoken").text_content()) < 300


def test_keyboard_reaches_everything_and_outlines_it(open_page):
    page = open_page("digits")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert redrawn(page).locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.evaluate("document.querySelector('details').open = true")
    focused = """() => {
        const node = document.activeElement;
        const inside = document.querySelector("main").contains(node);
        return [inside, getComputedStyle(node).outlineStyle !== "none"];
    }"""
    reached = []
    while page.keyboard.press("Tab") is None and (found := page.evaluate(focused))[0]:
        reached.append(found[1])
    wanted = page.locator("main").locator("button:enabled, input, select, [tabindex='0'], summary").count()
    assert reached == [True] * wanted


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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_without_scripts_the_best_columns_are_listed_in_the_theme_of_the_system(open_page, studies, theme):
    page = open_page("planted", scripts=False, color_scheme=theme)
    assert "need JavaScript, which is disabled" in page.locator("noscript").inner_text()
    assert page.locator("noscript li").all_inner_texts() == best_names(studies["planted"])[:20]
    assert page.locator("#settings").is_visible()
    assert not page.locator("#theme").is_visible()
    assert not page.locator("#search").is_visible()
    paper = luminance(page.locator("html").evaluate("node => getComputedStyle(node).backgroundColor"))
    assert paper > 0.8 if theme == "light" else paper < 0.05
    assert contrast(page, "h1") >= 4.5


def test_commands_can_be_copied_and_are_selected_where_that_is_forbidden(open_page, studies):
    page = open_page("digits", permissions=["clipboard-read", "clipboard-write"])
    page.locator("summary").click()
    button = page.locator("[data-copies=command]")
    button.click()
    playwright.expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == studies["digits"].command
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    button = page.locator("[data-copies=code]")
    button.click()
    playwright.expect(button).to_have_text("Selected")
    assert "n_features_to_select=15" in page.evaluate("getSelection().toString()")
