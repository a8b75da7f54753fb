/** Runs `clickhouse take` until it is killed after a step: arguments copy, folder, step. */
import { takeIn } from '../../src/backup/move.ts'
import { TAKE_FAULTS } from '../../src/backup/take-into.ts'

const [copy = '', data_dir = '', step] = process.argv.slice(2)
await takeIn(copy, data_dir, TAKE_FAULTS.find((fault) => fault === step) ?? null)
