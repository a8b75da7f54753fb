/** CodeMirror for HogQL: colours, completion and faults from the server, keys. */
import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { SQLDialect, sql } from '@codemirror/lang-sql'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, linter, lintKeymap } from '@codemirror/lint'
import { EditorState, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { HogQLCompletions, HogQLFaults, HogQLSuggestion } from '../../../api/editor.ts'
import { fixOf } from './fixes.ts'

type EditorServices = {
  /** Completions for the word between two positions. */
  readonly complete: (text: string, from: number, to: number) => Promise<HogQLCompletions>
  readonly findFaults: (text: string) => Promise<HogQLFaults>
  readonly onChange: (text: string) => void
  /** ⌘↵ or Ctrl+↵. */
  readonly onRun: () => void
}

const LINT_PAUSE_MS = 400

/** All extensions of the editor. */
export function editorExtensions(services: EditorServices): Extension {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    EditorState.tabSize.of(2),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': 'HogQL', spellcheck: 'false' }),
    placeholder('select event, count() from events group by event'),
    sql({ dialect: HOGQL, upperCaseKeywords: false }),
    syntaxHighlighting(COLOURS),
    LOOK,
    autocompletion({
      override: [(context) => completeHogQL(context, services.complete)],
      icons: false,
    }),
    linter((view) => findDiagnostics(view, services.findFaults), { delay: LINT_PAUSE_MS }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) services.onChange(update.state.doc.toString())
    }),
    keymap.of([
      {
        key: 'Mod-Enter',
        run: (view) => {
          closeCompletion(view)
          services.onRun()
          return true
        },
      },
      // Tab leaves the editor, unless there is a completion to take.
      { key: 'Tab', run: acceptCompletion },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
  ]
}

/** The keywords of HogQL; functions and names come from the server. */
const HOGQL = SQLDialect.define({
  keywords: `all and any anti array as asc asof between by case cast cohort cross cube date desc distinct else end
    except exists false fill filter final first following format from full global group grouping having if ilike in
    inner intersect interval into is join last lateral left like limit not null nulls offset on or order outer over
    partition pivot preceding prewhere range recursive right rollup row rows sample select semi sets settings then ties
    totals true union unbounded unpivot using when where window with`,
  operatorChars: '+-*/%<>=!~',
  identifierQuotes: '`"',
  backslashEscapes: true,
  slashComments: false,
  hashComments: false,
})

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--series-3)', fontWeight: '500' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--series-1)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--series-2)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.operator, tags.punctuation], color: 'var(--muted)' },
])

const LOOK = EditorView.theme({
  '&': { height: '100%', fontSize: '13.5px', color: 'var(--text)', background: 'var(--field)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { padding: '10px 0', caretColor: 'var(--text)' },
  '.cm-gutters': { background: 'transparent', color: 'var(--muted)', border: '0' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 8px 0 12px', minWidth: '28px' },
  '.cm-activeLine': { background: 'color-mix(in srgb, var(--hover) 60%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground':
    { background: 'color-mix(in srgb, var(--accent) 28%, transparent)' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    background: 'color-mix(in srgb, var(--accent) 20%, transparent)',
  },
  '.cm-tooltip': {
    background: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    boxShadow: 'var(--shadow-l)',
    overflow: 'hidden',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '260px' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '4px 10px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    background: 'var(--accent-soft)',
    color: 'var(--text)',
  },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal', marginLeft: '12px' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
  '.cm-diagnostic': { padding: '6px 10px', borderLeft: '3px solid var(--bad)' },
  '.cm-diagnosticAction': {
    padding: '2px 8px',
    borderRadius: '4px',
    background: 'var(--accent-soft)',
    color: 'var(--accent)',
    font: 'inherit',
  },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
})

/** The start of the word before the cursor: letters, digits, `_` and `$`. */
function wordStart({ state, pos }: CompletionContext): number {
  const { from: line_start, text } = state.doc.lineAt(pos)
  let from = pos
  while (from > line_start && /[\w$]/.test(text.charAt(from - line_start - 1))) from -= 1
  return from
}

const NO_COMPLETIONS: HogQLCompletions = { suggestions: [], incomplete_list: true }

async function completeHogQL(
  context: CompletionContext,
  complete: EditorServices['complete'],
): Promise<CompletionResult | null> {
  const from = wordStart(context)
  const before = context.state.sliceDoc(from - 1, from)
  const first = context.state.sliceDoc(from, Math.min(from + 1, context.pos))
  // Of a number nothing is completed: Enter after `limit 10` would take `exp10`.
  const is_name = first === '' ? before === '.' : !/\d/.test(first)
  if (!context.explicit && !is_name) return null
  const { suggestions, incomplete_list } = await complete(
    context.state.doc.toString(),
    from,
    context.pos,
  ).catch(() => NO_COMPLETIONS)
  if (context.aborted) return null
  const options = suggestions.map(completionOf)
  // A list that was cut off may lack the matches of a longer word: they are fetched again. An empty list is a list too:
  // after null the editor would not ask about what was typed in the meantime.
  const is_whole = !incomplete_list && options.length > 0
  return { from, options, ...(is_whole && { validFor: /^[\w$]*$/ }) }
}

function completionOf({ label, insertText, detail, kind }: HogQLSuggestion): Completion {
  return {
    label,
    apply: insertText,
    type: kind.toLowerCase(),
    ...(detail ? { detail } : {}),
  }
}

async function findDiagnostics(
  view: EditorView,
  findFaults: EditorServices['findFaults'],
): Promise<readonly Diagnostic[]> {
  const text = view.state.doc.toString()
  if (text.trim() === '') return []
  const { errors, warnings } = await findFaults(text).catch(() => ({ errors: [], warnings: [] }))
  const length = view.state.doc.length
  const place = (severity: Diagnostic['severity']) => (fault: HogQLFaults['errors'][number]) => {
    const from = Math.min(fault.start ?? 0, length)
    const to = Math.min(fault.end ?? length, length)
    const fix = fixOf(text, fault)
    const action = fix && {
      name: `Use ${fix.name}`,
      apply: (editor: EditorView) =>
        editor.dispatch({ changes: { from: fix.from, to: fix.to, insert: fix.name } }),
    }
    return { from, to, severity, message: fault.message, ...(action && { actions: [action] }) }
  }
  return [...errors.map(place('error')), ...warnings.map(place('warning'))]
}
