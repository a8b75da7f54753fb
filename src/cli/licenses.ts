/** `licenses`: what the executable is made of, and under which licences. */
import type { Command } from 'commander'

/** Adds the command. */
export function addLicensesCommand(program: Command): void {
  program
    .command('licenses')
    .description('Print the licences of all software that is in this executable.')
    .action(async () => {
      // Half a megabyte of text, or the bundler: no other command needs either.
      const { readNotices } = await import('../licenses/notices.ts')
      await Bun.write(Bun.stdout, await readNotices())
    })
}
