/* Starts the page: the theme, the buttons that copy, and what the page draws. */

document.documentElement.classList.add("scripted");
followTheme();
drawPage(JSON.parse(byId("data").textContent));
document.querySelectorAll("[data-copies]").forEach(makeCopy);
document.documentElement.dataset.ready = "true";

/** Follows the theme of the system until the button is pressed. */
function followTheme() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const refresh = () => {
    if (document.documentElement.dataset.theme) byId("dark").media = isDark() ? "screen" : "not all"; // paper is white
    button.setAttribute("aria-pressed", isDark());
    redrawAll();
  };
  const remembered = rememberedTheme();
  if (remembered) document.documentElement.dataset.theme = remembered;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    remember(document.documentElement.dataset.theme);
    refresh();
  });
  system.addEventListener("change", refresh);
  window.matchMedia("print").addEventListener("change", redrawAll);
  refresh();
}

function rememberedTheme() {
  try {
    const theme = localStorage.getItem("ufselect-theme");
    return theme === "dark" || theme === "light" ? theme : null;
  } catch {
    return null; // storage may be disabled
  }
}

function remember(theme) {
  try {
    localStorage.setItem("ufselect-theme", theme);
  } catch {
    // then the choice lasts until the page is closed
  }
}

/** Copies the text of an element, or selects it if the browser does not allow copying. */
function makeCopy(button) {
  const source = byId(button.dataset.copies);
  const say = (text) => {
    button.textContent = text;
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(source);
      say("Selected");
    }
  });
}
