import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles/tokens.css";
import "./styles/base.css"; // before the styles of the parts
import { App } from "./App";
import { applySettings, currentSettings } from "./settings";
import { keepSetupCode } from "./setupCode";
import { loadWords } from "./words";

function render() {
  const root = document.getElementById("root");
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

applySettings();
keepSetupCode();
void loadWords(currentSettings().language).then(render, render); // without its words the page is in English
