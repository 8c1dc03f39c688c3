// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Two documents: the page, and the frame in which HTML of a result is shown. Nothing is inlined: the page's CSP allows
// no script that does not come from a file of ours.
export default defineConfig({
  resolve: { preserveSymlinks: true }, // src/pages/examples has links to examples/, which is not below this folder
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
    rollupOptions: {
      input: {
        index: fileURLToPath(new URL("index.html", import.meta.url)),
        frame: fileURLToPath(new URL("frame.html", import.meta.url)),
      },
    },
  },
  server: { proxy: Object.fromEntries(["/v1", "/metrics", "/health"].map((path) => [path, { target: process.env["VIV"] ?? "http://127.0.0.1:7878", changeOrigin: false }])) }, // Host stays that of Origin
  test: { environment: "happy-dom", include: ["test/**/*.test.{ts,tsx}"] },
});
