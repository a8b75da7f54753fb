/** The command line with every family of commands. */
import { addBackupCommands } from './backups.ts'
import { addClickHouseCommands } from './clickhouse/clickhouse.ts'
import { type AddCommands, runCommandLine } from './command-line.ts'
import { addDemoCommand } from './demo.ts'
import { addExportCommands } from './exports.ts'
import { addKeyCommands } from './keys.ts'
import { addLicensesCommand } from './licenses.ts'
import { addMetricsCommand } from './monitoring/metrics.ts'
import { addTopCommand } from './monitoring/top.ts'
import { addOrganizationCommands } from './organizations.ts'
import { addProjectCommands } from './projects.ts'
import { addServeCommands } from './serve.ts'
import { addTakeoverCommand } from './takeover.ts'
import { addUserCommands } from './users.ts'

/** Every family of commands. Adding one means adding a line. */
const FAMILIES: readonly AddCommands[] = [
  addServeCommands,
  addOrganizationCommands,
  addProjectCommands,
  addKeyCommands,
  addUserCommands,
  addDemoCommand,
  addBackupCommands,
  addTakeoverCommand,
  addExportCommands,
  addClickHouseCommands,
  addMetricsCommand,
  addTopCommand,
  addLicensesCommand,
]

/** Runs one command line (without the program's own name); resolves with the exit code. */
export function runCommands(args: readonly string[]): Promise<number> {
  return runCommandLine(args, FAMILIES)
}
