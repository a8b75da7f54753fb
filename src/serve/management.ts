/** Background work of the management API: plugins, demo data, removal of deleted projects and events. */

import type { Config } from '../config.ts'
import { DemoRuns } from '../demo/demo-runs.ts'
import type { AppContext } from '../http/app-context.ts'
import { Downloads } from '../http/browser/downloads.ts'
import { LoginTries } from '../http/browser/login-tries.ts'
import { FailedKeys } from '../http/callers/failed-keys.ts'
import type { Capture } from '../ingest/threads/capture.ts'
import type { Log } from '../logs.ts'
import { findChromium } from '../pictures/find-chromium.ts'
import { Pictures } from '../pictures/pictures.ts'
import { Addresses } from '../plugins/addresses.ts'
import { Destinations } from '../plugins/destinations.ts'
import { openTallies } from '../plugins/tallies.ts'
import { KeyLimits } from '../query/service/key-limits.ts'
import type { Control } from '../storage/control/control-db.ts'
import type { Targeting } from '../targeting/open-targeting.ts'
import { openBackups } from './backups.ts'
import type { EventHolder } from './events.ts'
import { openRemoval, type RemovalParts } from './removal.ts'

type ManagementParts = {
  readonly config: Config
  readonly log: Log
  readonly now: () => Date
  readonly control: Control
  readonly capture: Capture
  readonly snapshots: EventHolder['snapshots']
  readonly query_service: RemovalParts['query_service']
  readonly targeting: Targeting
}

/** Starts destinations, backups, and removals that the last run left over. events.db must exist. */
export function openManagement(
  { config, log, now, control, capture, snapshots, query_service, targeting }: ManagementParts,
  parts: AsyncDisposableStack,
): Pick<
  AppContext,
  | 'addresses'
  | 'backups'
  | 'call_limits'
  | 'demo'
  | 'destinations'
  | 'downloads'
  | 'failed_keys'
  | 'login_tries'
  | 'pictures'
  | 'removeProjectData'
  | 'organizations_max'
  | 'projects_max'
  | 'saved_bytes_max'
  | 'flags_max'
  | 'saved_max'
> {
  const addresses = new Addresses(config.webhook_networks)
  const needs = { data_dir: config.data_dir, control: control.db, log, now }
  const tallies = openTallies(needs)
  parts.defer(() => tallies.close())

  const { matchAction } = targeting
  const destinations = new Destinations({ ...needs, addresses, matchAction })
  parts.defer(() => destinations.close())
  destinations.start()

  const demo = new DemoRuns({ ...needs, capture, flags: targeting.flags })
  parts.defer(() => demo.close())
  demo.start()

  const backups = openBackups(config, log, now)
  parts.defer(() => backups?.close())
  backups?.start()

  const removal = openRemoval({ control, capture, snapshots, query_service, log })
  removal.finish()
  const limits = { running_max: 0, per_minute: config.api_rate_per_minute, per_hour: 0 }
  return {
    addresses,
    backups,
    call_limits: new KeyLimits(limits, needs.now),
    destinations,
    failed_keys: openFailedKeys(config, needs.now),
    login_tries: new LoginTries(needs.now),
    downloads: new Downloads(),
    demo,
    pictures: new Pictures(findChromium(config.chromium), log),
    removeProjectData: (project_id) => removal.remove(project_id),
    saved_max: config.saved_max,
    flags_max: config.flags_max,
    saved_bytes_max: config.saved_bytes_max,
    organizations_max: config.organizations_max,
    projects_max: config.projects_max,
  }
}

function openFailedKeys(config: Config, now: () => Date): FailedKeys {
  const { failed_keys_per_minute: per_minute, trusted_proxies } = config
  return new FailedKeys({ per_minute, trusted_proxies }, now)
}
