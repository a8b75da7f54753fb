/** `metrics`: prints alert rules and a dashboard for programs that watch a server. */
import { type Command, Option } from 'commander'
import { printAlertRules } from './alert-rules.ts'
import { printDashboard } from './dashboard.ts'

type MetricsOptions = { readonly dashboard?: true; readonly alerts?: true; readonly job: string }

const METRICS_HELP = `
Prometheus reads the figures from GET /_metrics; TIDEMARK_METRICS_NETWORKS says from which addresses.

Examples:
  $ tidemark metrics --alerts > /etc/prometheus/tidemark.rules.yml
  $ tidemark metrics --dashboard > tidemark.json      import it in Grafana`

/** Adds the command. */
export function addMetricsCommand(program: Command): void {
  const command = program
    .command('metrics')
    .description('Print a Grafana dashboard, or alert rules for Prometheus.')
    .addOption(new Option('--dashboard', 'print a dashboard for Grafana').conflicts('alerts'))
    .addOption(new Option('--alerts', 'print alert rules for Prometheus'))
    .option('--job <name>', 'name of the scrape job in the alert rules', 'tidemark')
    .addHelpText('after', METRICS_HELP)
    .action(async ({ dashboard, alerts, job }: MetricsOptions) => {
      if (dashboard === undefined && alerts === undefined) {
        command.error('error: say what to print: --dashboard or --alerts')
      }
      await Bun.write(Bun.stdout, dashboard === true ? printDashboard() : printAlertRules(job))
    })
}
