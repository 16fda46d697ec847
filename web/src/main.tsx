import "@fontsource-variable/inter/index.css";
import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./ui/ui.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";

// The base was written relative to the first page: it has to stay what it was then, also on other pages.
const base = document.querySelector("base");
if (base) base.href = document.baseURI;

const place = document.getElementById("root");
if (place) {
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
