// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../src/api/client";
import { freePath, pathOf, uploadFiles, uploads, type Upload } from "../../src/panels/upload";
import { toasts } from "../../src/state/toasts";
import { conversationOf } from "../cells/parts";

const calls = vi.hoisted(() => ({ listFiles: vi.fn(), status: vi.fn() }));
const { uploadFile } = vi.hoisted(() => ({ uploadFile: vi.fn() }));
vi.mock("../../src/api/calls", () => calls);
vi.mock("../../src/api/upload", () => ({ uploadFile }));
vi.mock("../../src/state/session", () => ({ ensureSession: () => Promise.resolve("ses_a") }));

const fileOf = (name: string, text = "a,b\n1,2\n") => new File([text], name);
const stateOf = (i: number) => uploads.value[i]!.state.value;
const until = async (upload: Upload, at: string) => vi.waitFor(() => expect(upload.state.value.at).toBe(at));

beforeEach(() => {
  uploads.value = [];
  toasts.value = [];
  calls.listFiles.mockResolvedValue({ files: [] });
  calls.status.mockResolvedValue({ limits: { body: 1000 } });
  uploadFile.mockReset().mockImplementation((_session, path: string) => Promise.resolve({ path }));
});
afterEach(() => vi.restoreAllMocks());

describe("names of files", () => {
  it("are the browser's, below the folder that was chosen, and never lead out of it", () => {
    const within = (path: string) => {
      const file = fileOf("x");
      Object.defineProperty(file, "webkitRelativePath", { value: path });
      return pathOf(file);
    };
    expect(pathOf(fileOf(".hidden"))).toBe(".hidden");
    expect(pathOf(fileOf("a\\b.csv"))).toBe("a_b.csv");
    expect(within("data/2024/a.csv")).toBe("data/2024/a.csv");
    expect(within("../../etc/./passwd")).toBe("etc/passwd");
    expect(within("..")).toBe("file");
  });

  it("get a number when they are taken", () => {
    expect(freePath("a.csv", new Set(["a.csv"]))).toBe("a (1).csv");
    expect(freePath("d.x/a", new Set(["d.x/a (1)"]))).toBe("d.x/a (2)");
    expect(freePath(".env", new Set())).toBe(".env (1)");
  });
});

describe("uploads", () => {
  it("go one after the other and offer a first chart of what is a table", async () => {
    await uploadFiles(conversationOf([]), [fileOf("a.csv", "k,n\nx,1\ny,2\n"), fileOf("b.bin")]);
    expect(uploadFile.mock.calls.map((call) => call[1] as string)).toEqual(["a.csv", "b.bin"]);
    expect(stateOf(0)).toMatchObject({ at: "done", starter: expect.stringContaining('read_csv("a.csv")') as string });
    expect(stateOf(1)).toEqual({ at: "done", starter: null, note: "" });
  });

  it("of a workbook offer to read it, unless it is none", async () => {
    await uploadFiles(conversationOf([]), [fileOf("a \"b\".xlsx", "PK\x03\x04\0"), fileOf("c.XLSM", "PK\x03\x04\0"), fileOf("d.xlsx", "a,b\n1,2\n")]);
    expect(stateOf(0)).toMatchObject({ at: "done", note: "", starter: expect.stringContaining('df = pd.read_excel("a \\"b\\".xlsx")\ndf.head(5)') as string });
    expect(stateOf(1)).toMatchObject({ starter: expect.stringContaining('read_excel("c.XLSM")') as string });
    expect(stateOf(2)).toEqual({ at: "done", starter: null, note: "8 B that are no workbook: it cannot be read as XLSX" });
  });

  it("say what is of no use: a file that is empty, or that is not what its name says", async () => {
    await uploadFiles(conversationOf([]), [fileOf("a.bin", ""), fileOf("b.csv", ""), fileOf("c.csv", "\n \n"), fileOf("d.json", "PK\0\0")]);
    expect(uploads.value.map(({ state }) => (state.value as { note?: string }).note)).toEqual([
      "The file is empty", "The file is empty", "The file has nothing but blanks in it", "4 B that are not text: it cannot be read as JSON",
    ]);
  });

  it("are refused before a byte is sent when they are too large or their name is too long", async () => {
    await uploadFiles(conversationOf([]), [fileOf("big.bin", "x".repeat(1001)), fileOf(`${"ü".repeat(128)}.csv`)]);
    expect(uploadFile).not.toHaveBeenCalled();
    expect(stateOf(0)).toMatchObject({ at: "failed", message: expect.stringContaining("1000 B at most") as string });
    expect(stateOf(1)).toMatchObject({ at: "failed", message: "its name is longer than 255 bytes" });
  });

  it("that fail say why and do not stop the others", async () => {
    uploadFile.mockRejectedValueOnce(new ApiError(413, "too_large", "'a.txt' does not fit: the workspace is full"));
    await uploadFiles(conversationOf([]), [fileOf("a.txt"), fileOf("b.txt")]);
    expect(stateOf(0)).toMatchObject({ at: "failed", message: "'a.txt' does not fit: the workspace is full" });
    expect(stateOf(1).at).toBe("done");
  });

  it("replace nothing that is there without being told to", async () => {
    calls.listFiles.mockResolvedValue({ files: [{ path: "/workspace/a.csv" }] });
    const all = uploadFiles(conversationOf([]), [fileOf("a.csv")]);
    await until(uploads.value[0]!, "asks");
    expect(uploadFile).not.toHaveBeenCalled();
    uploads.value[0]!.answer!("both");
    await all;
    expect(uploadFile.mock.calls[0]![1]).toBe("a (1).csv");
    expect(stateOf(0)).toMatchObject({ starter: expect.stringContaining('"a (1).csv"') as string });
  });

  it("that are a folder, or cannot be read, say so", async () => {
    const folder = fileOf("folder");
    vi.spyOn(folder, "slice").mockImplementation(() => {
      throw new DOMException("a folder", "NotFoundError");
    });
    await uploadFiles(conversationOf([]), [folder]);
    expect(stateOf(0)).toMatchObject({ at: "failed", message: expect.stringContaining("folder") as string });
  });

  it("do not start where running code is off", async () => {
    const conversation = conversationOf([]);
    conversation.sandbox.value = false;
    await uploadFiles(conversation, [fileOf("a.csv")]);
    expect(uploads.value).toHaveLength(0);
    expect(toasts.value[0]?.text).toContain("Running code is off");
  });
});
