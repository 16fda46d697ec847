import { autocompletion, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { python } from "@codemirror/legacy-modes/mode/python";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { hjson, isProgram } from "./hjson";
import { nonce } from "./nonce";

export interface Mistake {
  line: number;
  column: number;
  message: string;
}

// The colours are those of the design system, so that light and dark need no styles of their own.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: "var(--u-accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--u-good)" },
  { tag: tags.number, color: "var(--u-wait)" },
  { tag: tags.propertyName, color: "var(--u-busy)" },
  { tag: tags.comment, color: "var(--u-faint)", fontStyle: "italic" },
]);

const appearance = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--u-text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": { caretColor: "var(--u-text)" },
  ".cm-cursor": { borderLeftColor: "var(--u-text)" },
  ".cm-placeholder": { color: "var(--u-faint)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--u-faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--u-hover) 60%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--u-selected)",
  },
  ".cm-tooltip": { backgroundColor: "var(--u-surface)", border: "1px solid var(--u-line-strong)", borderRadius: "6px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--u-selected)", color: "var(--u-text)" },
});

const languages = { program: StreamLanguage.define(python), data: StreamLanguage.define(hjson) };

/** Editor edits the text of a template: HJSON or Starlark, mistakes at their line. Tab leaves it, as in every field. */
export default function Editor({
  value,
  onChange,
  mistakes,
  readOnly,
  complete,
}: {
  value: string;
  onChange: (text: string) => void;
  mistakes: Mistake[];
  readOnly: boolean;
  complete: CompletionSource;
}) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const language = useRef(new Compartment());
  const latest = useRef({ onChange, complete });
  useEffect(() => {
    latest.current = { onChange, complete };
  });

  useEffect(() => {
    if (!place.current) return;
    const mode = language.current;
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          indentUnit.of("    "),
          bracketMatching(),
          highlightActiveLine(),
          lintGutter(),
          autocompletion({ override: [(context) => latest.current.complete(context)] }),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap]),
          mode.of(languageOf(value)),
          syntaxHighlighting(colours),
          appearance,
          EditorView.lineWrapping,
          EditorState.readOnly.of(readOnly),
          placeholder("A value in HJSON, or a Starlark program with def template(device): …"),
          EditorView.contentAttributes.of({ "aria-label": "Template text" }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            const text = update.state.doc.toString();
            latest.current.onChange(text);
            if (isProgram(text) !== isProgram(update.startState.doc.toString())) {
              update.view.dispatch({ effects: mode.reconfigure(languageOf(text)) });
            }
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      view.current = null;
      editor.destroy();
    };
    // The editor is made once: afterwards it owns the text, see the effect below.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [readOnly]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { doc } = editor.state;
    const diagnostics = mistakes.map(({ line, column, message }) => {
      const at = doc.line(Math.max(1, Math.min(line, doc.lines)));
      const from = Math.min(at.to, at.from + Math.max(0, column - 1));
      return { from, to: Math.max(from, at.to), severity: "error" as const, message };
    });
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [mistakes]);

  return <div className="u-editor" ref={place} />;
}

function languageOf(text: string) {
  return isProgram(text) ? languages.program : languages.data;
}
