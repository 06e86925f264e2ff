import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles/tokens.css";
import "./styles/base.css"; // before the styles of the parts
import { App } from "./App";
import { applySettings, currentSettings } from "./settings";
import { comeBack } from "./screens/signin/returnAddress";
import { keepSetupCode } from "./setupCode";
import { loadWords } from "./words";

/**
 * Only once: during an upgrade a file that is loaded later may import this one under its new name, which runs it a second
 * time. A second page in the place of the first one would be of another version, and without what was typed.
 */
function render() {
  const root = document.getElementById("root");
  if (!root || root.hasChildNodes()) return;
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

applySettings();
keepSetupCode();
comeBack();
void loadWords(currentSettings().language).then(render, render); // without its words the page is in English
