/** Writes the list of the original's operations, and their totals in the README. */
import {
  LIST_FILE,
  printList,
  printTotals,
  README_FILE,
  readCoverage,
  withTotals,
} from './coverage.ts'

const operations = await readCoverage()
await Bun.write(LIST_FILE, printList(operations))
const readme = await Bun.file(README_FILE).text()
await Bun.write(README_FILE, withTotals(readme, printTotals(operations)))
// The application's modules keep timers.
process.exit(0)
