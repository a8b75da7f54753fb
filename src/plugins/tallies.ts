/**
 * Writes the tallies of transformations, received from the threads of ingestion, to the logs of their configurations.
 */
import type { ControlDB } from '../projects/rights/access.ts'
import { findPluginConfig } from './plugin-config.ts'
import { addLogEntry } from './plugin-log.ts'
import { tallyChannel } from './tally-sender.ts'
import type { Tally } from './transformations.ts'

type TallyContext = {
  readonly data_dir: string
  readonly control: ControlDB
  readonly log: { error(fields: object, message: string): void }
  readonly now: () => Date
}

/** Receives tallies until `close`. */
export function openTallies(context: TallyContext): { close(): void } {
  const channel = new BroadcastChannel(tallyChannel(context.data_dir))
  channel.addEventListener('message', (event) => {
    if (!(event instanceof MessageEvent)) return
    try {
      for (const tally of event.data as readonly Tally[]) noteTally(context, tally)
    } catch (err) {
      context.log.error({ err }, 'what transformations did could not be noted')
    }
  })
  return { close: () => channel.close() }
}

function noteTally({ control, now }: TallyContext, tally: Tally): void {
  const { plugin_config_id, handled, changed, dropped, error } = tally
  const config = findPluginConfig(control, plugin_config_id)
  if (config === null) return
  const message = `${handled} events: ${changed} changed, ${dropped} dropped.`
  addLogEntry(control, config, { source: 'PLUGIN', type: 'LOG', message }, now())
  if (error === null) return
  addLogEntry(control, config, { source: 'PLUGIN', type: 'ERROR', message: error }, now())
}
