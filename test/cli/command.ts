/** Runs the real command line as a process of its own. */
import { ownCommand } from '../../src/storage/process/spawn-self.ts'

export type Ran = { readonly exit_code: number; readonly out: string; readonly err: string }

/** How late scripts are optimized in processes of `bun run check`. */
const OPTIMIZATION = Object.entries(process.env).filter(([name]) => name.startsWith('BUN_JSC_'))

/** Only what a program needs to start: no setting of the machine that runs the tests. */
export const ENVIRONMENT = {
  ...Object.fromEntries(OPTIMIZATION.map(([name, value]) => [name, value ?? ''])),
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? '/',
}

/** The arguments that run one command of ours. */
export const commandLine = (args: readonly string[]): string[] => [...ownCommand(args)]

/** Runs one command to its end. */
export async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const child = Bun.spawn(commandLine(args), {
    env: { ...ENVIRONMENT, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, exit_code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { exit_code, out, err }
}
