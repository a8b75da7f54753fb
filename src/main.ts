#!/usr/bin/env bun
/** The entry of every process of the executable: a hidden command runs a child process, any other one the command line. */

/** Commands that keep running: they start without the modules of all others, which take 20 ms. */
const SERVING: ReadonlySet<string> = new Set(['serve', 'up'])

/** Files of this process and its threads have no rights for group and others. */
const UMASK = 0o077

async function main(argv: readonly string[]): Promise<void> {
  process.umask(UMASK)
  if (SERVING.has(argv[0] ?? '')) {
    const { runCommands } = await import('./cli/serving.ts')
    return process.exit(await runCommands(argv))
  }
  const { runChild } = await import('./children.ts')
  const running = runChild(argv)
  if (running !== null) return running
  const { runCommands } = await import('./cli/program.ts')
  process.exit(await runCommands(argv))
}

void main(process.argv.slice(2))
