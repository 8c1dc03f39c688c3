// SPDX-License-Identifier: Apache-2.0
// Which of the daemon's runtimes have a module: from what each has loaded, and from the names of its packages.
import * as calls from "../api/calls";
import type { Policy } from "../api/types";

// Modules whose package has another name.
const PACKAGES: Readonly<Record<string, string>> = {
  sklearn: "scikit-learn", skimage: "scikit-image", PIL: "pillow", cv2: "opencv-python", bs4: "beautifulsoup4", yaml: "pyyaml",
  dateutil: "python-dateutil", Crypto: "pycryptodome", docx: "python-docx", pptx: "python-pptx", dotenv: "python-dotenv",
};

const plain = (name: string) => name.toLowerCase().replace(/[-_.]+/g, "-");

/** The modules that a runtime has loaded, at most so many names: "numpy, pandas and 6 more"; "" for plain Python. */
export function preloadText(preload: readonly string[], most: number): string {
  return preload.length > most ? `${preload.slice(0, most).join(", ")} and ${preload.length - most} more` : preload.join(", ");
}

/** The runtimes that have the module and that the policy allows, but for the one where it was missing. */
export async function runtimesWith(module: string, without: string, policy: Policy | undefined): Promise<string[]> {
  const allowed = policy?.["runtimes"];
  const { runtimes } = await calls.status();
  const wanted = plain(Object.hasOwn(PACKAGES, module) ? PACKAGES[module]! : module);
  const others = runtimes.filter(({ name }) => name !== without && (!Array.isArray(allowed) || allowed.includes(name)));
  const having = await Promise.all(others.map(async ({ name, preload }) => {
    if (preload.includes(module)) return true;
    const { packages } = await calls.packages(name).catch(() => ({ packages: [] }));
    return packages.some((one) => plain(one.name) === wanted);
  }));
  return others.filter((_, i) => having[i]).map(({ name }) => name);
}
