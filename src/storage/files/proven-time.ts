/** A lower bound of the time that does not come from the clock of now: the times at which files were written. */
import type { FileRow } from '../log/event-log.ts'

type WrittenFile = Pick<FileRow, 'created_at'>

/** The clock is trusted up to this time after the newest file, so that a wrong clock cannot delete everything. */
export const SILENCE_MAX_US = 62 * 86_400_000_000
/** A file of this age was not written under a clock that was set wrong just now. */
export const PROVEN_MS = 7 * 86_400_000

/**
 * The newest time at which a file was surely written. Files that come after a long silence count once they span a week:
 * fewer may have been written under a wrong clock, before the server was started again.
 */
export function newestProven(files: readonly WrittenFile[]): number {
  let [proven, first, latest] = [0, 0, 0]
  for (const us of files.map(({ created_at }) => created_at).toSorted((a, b) => a - b)) {
    if (us - latest > SILENCE_MAX_US) first = us
    latest = us
    if (proven === 0 || us - proven <= SILENCE_MAX_US || us - first >= PROVEN_MS * 1000) proven = us
  }
  return proven
}
