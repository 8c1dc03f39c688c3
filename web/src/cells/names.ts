// SPDX-License-Identifier: Apache-2.0
// Which variables of the session a cell's code reads and writes, from its text alone. What is done by `exec`, by star
// imports or within a function of another cell cannot be seen here, and names that only look used count as read: what
// follows from it is a "may be".
import { pythonLanguage } from "@codemirror/lang-python";
import type { syntaxTree } from "@codemirror/language";

type SyntaxNode = ReturnType<typeof syntaxTree>["topNode"];

export interface Names {
  reads: ReadonlySet<string>; // before the code has given them a value itself
  writes: ReadonlySet<string>;
}

const LETTERS_MAX = 200_000;
const NONE: Names = { reads: new Set(), writes: new Set() };
/** Methods that change what they are called on. */
const CHANGES = new Set(["append", "extend", "insert", "pop", "remove", "clear", "update", "add", "discard", "sort", "reverse", "setdefault", "popitem", "fill"]);
const TARGETS = new Set(["VariableName", "TupleExpression", "ArrayExpression", "ParenthesizedExpression", "MemberExpression"]);

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
  return children;
}

class Reader {
  readonly reads = new Set<string>();
  readonly writes = new Set<string>();
  readonly bound = new Set<string>(); // given a value, not only changed in place
  readonly globals = new Set<string>(); // named by `global` or `nonlocal`
  private readonly sure = new Set<string>(); // have a value of this code's own, whichever way it went
  private depth = 0; // of what may not happen: branches, loops, functions

  constructor(
    private readonly code: string,
    private readonly local: ReadonlySet<string> = new Set(),
    private readonly isShallow = false, // functions within are another's business
  ) {}

  visit(node: SyntaxNode): void {
    const visit = this.visits[node.name];
    if (visit) visit(node);
    else this.visitAll(childrenOf(node));
  }

  private readonly visits: Readonly<Record<string, (node: SyntaxNode) => void>> = {
    VariableName: (node) => this.read(this.text(node)),
    AssignStatement: (node) => this.assign(node),
    UpdateStatement: (node) => this.assign(node),
    NamedExpression: (node) => this.assign(node),
    ForStatement: (node) => this.loop(node),
    WithStatement: (node) => this.blocks(node),
    TryStatement: (node) => this.blocks(node),
    IfStatement: (node) => this.blocks(node),
    WhileStatement: (node) => this.blocks(node),
    MatchClause: (node) => this.blocks(node),
    ImportStatement: (node) => this.importNames(node),
    DeleteStatement: (node) => childrenOf(node).forEach((child) => { this.visit(child); this.bind(child); }),
    ScopeStatement: (node) => childrenOf(node).slice(1).forEach((child) => this.globals.add(this.text(child))),
    CapturePattern: (node) => this.bind(node.firstChild),
    AsPattern: (node) => { this.visitAll(childrenOf(node).slice(0, -1)); this.bind(node.lastChild); },
    FunctionDefinition: (node) => this.define(node),
    ClassDefinition: (node) => this.define(node),
    LambdaExpression: (node) => this.inner(node),
    ArrayComprehensionExpression: (node) => this.comprehend(node),
    SetComprehensionExpression: (node) => this.comprehend(node),
    DictionaryComprehensionExpression: (node) => this.comprehend(node),
    ComprehensionExpression: (node) => this.comprehend(node),
    CallExpression: (node) => this.callOf(node),
    ArgList: (node) => this.visitAll(childrenOf(node).filter((child) => !(child.name === "VariableName" && child.nextSibling?.name === "AssignOp"))),
  };

  private visitAll(nodes: readonly SyntaxNode[]): void {
    for (const node of nodes) this.visit(node);
  }

  private text(node: SyntaxNode): string {
    return this.code.slice(node.from, node.to);
  }

  private read(name: string): void {
    if (!this.local.has(name) && !this.sure.has(name)) this.reads.add(name);
  }

  private write(name: string): void {
    if (!this.local.has(name)) this.writes.add(name);
  }

  /** A target: a name, some of them, or a part of what a name stands for. */
  private bind(node: SyntaxNode | null): void {
    if (node?.name === "VariableName") {
      const name = this.text(node);
      this.bound.add(name);
      this.write(name);
      if (this.depth === 0) this.sure.add(name);
    } else if (node?.name === "MemberExpression") {
      this.visit(node);
      this.change(node);
    } else if (node) childrenOf(node).forEach((child) => this.bind(child));
  }

  /** Changing `a["k"].b` changes `a`. */
  private change(node: SyntaxNode): void {
    let base: SyntaxNode | null = node;
    while (base && (base.name === "MemberExpression" || base.name === "CallExpression")) base = base.firstChild;
    if (base?.name === "VariableName") this.write(this.text(base));
  }

  private assign(node: SyntaxNode): void {
    const children = childrenOf(node);
    const last = children.findLastIndex(({ name }) => name === "AssignOp" || name === "UpdateOp");
    this.visitAll(children.filter(({ name }, i) => i > last || name === "TypeDef"));
    const targets = last < 0 ? [] : children.slice(0, last).filter(({ name }) => TARGETS.has(name));
    if (node.name === "UpdateStatement") this.visitAll(targets);
    for (const target of targets) this.bind(target);
  }

  private loop(node: SyntaxNode): void {
    const children = childrenOf(node);
    const at = children.findIndex(({ name }) => name === "in");
    this.visitAll(children.slice(at + 1).filter(({ name }) => name !== "Body"));
    this.depth++; // there may be nothing to go through
    children.slice(0, Math.max(at, 0)).filter(({ name }) => TARGETS.has(name)).forEach((child) => this.bind(child));
    this.visitAll(children.filter(({ name }) => name === "Body"));
    this.depth--;
  }

  /** Statements with bodies; what follows `as` is a target. All of `with` happens, of the others perhaps nothing. */
  private blocks(node: SyntaxNode): void {
    const step = node.name === "WithStatement" ? 0 : 1;
    for (const child of childrenOf(node)) {
      const isInside = child.name === "Body" || node.name !== "IfStatement";
      if (isInside) this.depth += step;
      if (child.prevSibling?.name === "as" && TARGETS.has(child.name)) this.bind(child);
      else this.visit(child);
      if (isInside) this.depth -= step;
    }
  }

  private importNames(node: SyntaxNode): void {
    const children = childrenOf(node);
    const from = children.findIndex(({ name }) => name === "import") + 1;
    children.slice(from).forEach((child, i, all) => {
      if (child.name !== "VariableName" || all[i + 1]?.name === "as") return;
      if (all[i - 1]?.name !== ".") this.bind(child); // of `a.b` the name is `a`
    });
  }

  private define(node: SyntaxNode): void {
    const name = childrenOf(node).find((child) => child.name === "VariableName");
    this.inner(node, name);
    this.bind(name ?? null);
  }

  /** Functions, lambdas and classes: names of their own, and the outer ones that they use. */
  private inner(node: SyntaxNode, name?: SyntaxNode): void {
    const own = new Set(this.local);
    const inside: SyntaxNode[] = [];
    for (const child of childrenOf(node)) {
      if (child.name === "ParamList") this.params(child, own);
      else if (child.name === "Body" || node.name === "LambdaExpression") inside.push(child);
      else if (child.from !== name?.from) this.visit(child);
    }
    if (this.isShallow) return;
    const first = new Reader(this.code, own, true);
    for (const child of inside) first.visit(child);
    for (const bound of first.bound) if (!first.globals.has(bound)) own.add(bound);
    const all = new Reader(this.code, own);
    for (const child of inside) all.visit(child);
    for (const read of all.reads) this.read(read);
    for (const write of all.writes) this.write(write);
  }

  private params(node: SyntaxNode, own: Set<string>): void {
    for (const child of childrenOf(node)) {
      if (child.name === "VariableName" && child.prevSibling?.name !== "AssignOp") own.add(this.text(child));
      else this.visit(child);
    }
  }

  private comprehend(node: SyntaxNode): void {
    const own = new Set(this.local);
    let isTarget = false;
    for (const child of childrenOf(node)) {
      if (child.name === "for") isTarget = true;
      else if (child.name === "in") isTarget = false;
      else if (isTarget) new Reader(this.code).targets(child, own);
    }
    const inside = new Reader(this.code, own, this.isShallow);
    for (const child of childrenOf(node)) inside.visit(child);
    for (const read of inside.reads) this.read(read);
    for (const write of inside.writes) this.write(write);
  }

  private targets(node: SyntaxNode, own: Set<string>): void {
    this.bind(node);
    for (const name of this.bound) own.add(name);
  }

  private callOf(node: SyntaxNode): void {
    const [callee, args] = [node.firstChild, node.lastChild];
    this.visitAll(childrenOf(node));
    if (callee?.name !== "MemberExpression" || !callee.lastChild) return;
    const isInPlace = args !== null && /\binplace\s*=\s*True\b/.test(this.text(args));
    if (isInPlace || CHANGES.has(this.text(callee.lastChild))) this.change(callee);
  }
}

/** Empty sets for what cannot be read: then nothing is said of the cell. */
export function namesOf(code: string): Names {
  if (code.length > LETTERS_MAX) return NONE;
  try {
    const reader = new Reader(code);
    reader.visit(pythonLanguage.parser.parse(code).topNode);
    return reader;
  } catch (cause) {
    if (cause instanceof RangeError) return NONE; // nested deeper than the stack is high
    throw cause;
  }
}
