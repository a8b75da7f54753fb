/** The child processes of this program: each is confined, as far as the system lets it, and runs. */
import { readConfinedArgument } from './storage/process/confinement/confine.ts'

type ChildRun = (args: readonly string[]) => Promise<void>

type ChildCommand = {
  /**
   * Starts the process again with fewer rights, and returns where it needs all or the system cannot take any. A module of
   * its own, since the first start loads nothing else.
   */
  readonly confine: ChildRun
  readonly run: ChildRun
}

/** The hidden commands of child processes. Adding one means adding a line. */
const CHILDREN: Readonly<Record<string, ChildCommand>> = {
  'query-process': {
    confine: async (args) =>
      (await import('./query/worker/confine-query.ts')).confineQueryProcess('query-process', args),
    run: async (args) => (await import('./query/worker/query-process.ts')).runQueryProcess(args),
  },
  'query-confinement-probe': {
    confine: async (args) =>
      (await import('./query/worker/confine-query.ts')).confineQueryProcess(
        'query-confinement-probe',
        args,
      ),
    run: async (args) =>
      (await import('./query/worker/limits/confinement-probe.ts')).runConfinementProbe(args),
  },
  'shipping-process': {
    confine: async (args) =>
      (await import('./shipping/writer/confine-shipping.ts')).confineShippingProcess(args),
    run: async (args) =>
      (await import('./shipping/writer/shipping-process.ts')).runShippingProcess(args),
  },
  'snapshot-process': {
    confine: async (args) =>
      (await import('./snapshots/writer/confine-snapshot.ts')).confineSnapshotProcess(args),
    run: async () => (await import('./snapshots/writer/snapshot-process.ts')).runSnapshotProcess(),
  },
}

/** Files of this process, its threads and its children have no rights for group and others. */
const UMASK = 0o077

/** Runs a hidden command; null when the command line has another one. */
export function runChild(argv: readonly string[]): Promise<void> | null {
  process.umask(UMASK)
  const [command = '', ...args] = argv
  const child = Object.hasOwn(CHILDREN, command) ? CHILDREN[command] : undefined
  return child === undefined ? null : confineAndRun(child, args)
}

async function confineAndRun(
  { confine, run }: ChildCommand,
  args: readonly string[],
): Promise<void> {
  if (readConfinedArgument(args) === null) await confine(args)
  await run(args)
}
