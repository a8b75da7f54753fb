/** `licenses`: prints the packages in the executable with their licences. */
import type { Command } from 'commander'

/** Adds the command. */
export function addLicensesCommand(program: Command): void {
  program
    .command('licenses')
    .description('Print the licences of all software in this executable.')
    .action(async () => {
      // Imported here, because no other command needs half a megabyte of text, or the bundler.
      const { readNotices } = await import('../licenses/notices.ts')
      await Bun.write(Bun.stdout, await readNotices())
    })
}
