import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const outDir = "dist/console";

/** compress writes FILE.br and FILE.gz beside every text of the build, so that the server compresses nothing. */
function compress(): Plugin {
  return {
    name: "compress",
    apply: "build",
    closeBundle() {
      for (const file of readdirSync(join(outDir, "assets"))) {
        if (!/\.(js|css|svg)$/.test(file)) continue;
        const path = join(outDir, "assets", file);
        const text = readFileSync(path);
        writeFileSync(`${path}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
        writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
      }
    },
  };
}

// `npm run dev` serves the console with hot reload, and asks a server for everything else.
const server = process.env.MUSTER_SERVER ?? "http://127.0.0.1:2525";

export default defineConfig(({ command }) => ({
  base: command === "build" ? "./" : "/ui/", // the server writes <base>, so that every path prefix works
  plugins: [react(), compress()],
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    manifest: "manifest.json",
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { "/api": server, "/ui/login": server, "/ui/style.css": server } },
}));
