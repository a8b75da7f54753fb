/** The command line with the commands that keep running alone, which start fast without the others. */
import { runCommandLine } from './command-line.ts'
import { addServeCommands } from './serve.ts'

/** Runs one command line (without the program's own name); resolves with the exit code. */
export function runCommands(args: readonly string[]): Promise<number> {
  return runCommandLine(args, [addServeCommands])
}
