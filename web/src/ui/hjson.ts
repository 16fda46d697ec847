import type { StreamParser } from "@codemirror/language";

/** isProgram tells whether a text is a Starlark program, by the rule that the server has: a top-level def template. */
export function isProgram(text: string): boolean {
  return /^def\s+template\s*\(/m.test(text);
}

interface State {
  multiline: boolean;
  comment: boolean;
  expects: "name" | "value";
}

/** hjson colours HJSON: names, texts with and without quotes, comments of all three kinds. */
export const hjson: StreamParser<State> = {
  name: "hjson",
  startState: () => ({ multiline: false, comment: false, expects: "name" }),
  token(stream, state) {
    if (state.multiline) {
      if (stream.skipTo("'''")) {
        stream.match("'''");
        state.multiline = false;
      } else stream.skipToEnd();
      return "string";
    }
    if (state.comment) {
      if (stream.skipTo("*/")) {
        stream.match("*/");
        state.comment = false;
      } else stream.skipToEnd();
      return "comment";
    }
    if (stream.sol()) state.expects = "name";
    if (stream.eatSpace()) return null;
    if (stream.match("'''")) {
      state.multiline = true;
      return "string";
    }
    if (stream.match("/*")) {
      state.comment = true;
      return "comment";
    }
    if (stream.match("#") || stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^[{}[\],]/)) {
      state.expects = "name";
      return null;
    }
    if (stream.eat(":")) {
      state.expects = "value";
      return null;
    }
    if (stream.match(/^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/)) {
      return stream.match(/^\s*:/, false) ? "propertyName" : "string";
    }
    if (state.expects === "name" && stream.match(/^[^\s,:{}[\]"'#]+(?=\s*:)/)) return "propertyName";
    if (stream.match(/^(?:true|false|null)(?=\s*(?:[,}\]#]|$))/)) return "bool";
    if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?=\s*(?:[,}\]#]|$))/)) return "number";
    if (state.expects === "value") {
      stream.skipToEnd();
      return "string";
    }
    stream.next();
    return null;
  },
};
