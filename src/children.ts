/** The hidden commands of child processes. Adding one means adding a line. */
const CHILDREN: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  'query-process': async (args) => (await import('./query/worker/main.ts')).runQueryProcess(args),
  'query-confinement-probe': async (args) =>
    (await import('./query/worker/limits/confinement-probe.ts')).runConfinementProbe(args),
  'shipping-process': async (args) =>
    (await import('./shipping/writer/process.ts')).runShippingProcess(args),
  'snapshot-process': async (args) =>
    (await import('./snapshots/writer/process.ts')).runSnapshotProcess(args),
}

/** Files of this process, its threads and its children have no rights for group and others. */
const UMASK = 0o077

/** Runs a hidden command; null when the command line has another one. */
export function runChild(argv: readonly string[]): Promise<void> | null {
  process.umask(UMASK)
  const [command = '', ...args] = argv
  const run = Object.hasOwn(CHILDREN, command) ? CHILDREN[command] : undefined
  return run === undefined ? null : run(args)
}
