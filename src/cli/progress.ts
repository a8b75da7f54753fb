/** A progress bar on the terminal for long commands. */

const WIDTH = 30
const SHOWN_EVERY_MS = 100

export type ProgressBar = { show(done: number, all: number, what: string): void; end(): void }

/** Draws on standard error, and only on a terminal, so that standard output stays clean. */
export function openProgress(is_shown = process.stderr.isTTY): ProgressBar {
  let shown_ms = 0
  return {
    show(done, all, what) {
      if (!is_shown || performance.now() - shown_ms < SHOWN_EVERY_MS) return
      shown_ms = performance.now()
      const part = all === 0 ? 1 : Math.min(1, done / all)
      const bar = '#'.repeat(Math.round(part * WIDTH)).padEnd(WIDTH, '.')
      draw(`[${bar}] ${Math.floor(part * 100)} %  ${what}`)
    },
    end() {
      if (is_shown) draw('')
    },
  }
}

function draw(text: string): void {
  process.stderr.write(`\r\u001b[K${text}`)
}
