#!/usr/bin/env bun
/** The entry of every process of the executable: a hidden command runs a child process, any other one the command line. */
import { runChild } from './children.ts'

async function main(argv: readonly string[]): Promise<void> {
  const running = runChild(argv)
  if (running !== null) return running
  const { runCommandLine } = await import('./cli/program.ts')
  process.exit(await runCommandLine(argv))
}

void main(process.argv.slice(2))
