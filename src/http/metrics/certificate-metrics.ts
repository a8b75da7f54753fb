/** Metrics of the certificate of https, for every kind of server. */
import type { AppContext } from '../app-context.ts'
import type { MetricDefinition } from './metric.ts'

type CertificateHolder = Pick<AppContext, 'certificate' | 'now'>

/** Part of the metrics of a server, an edge and a standby. There is no sample without a certificate. */
export const CERTIFICATE_METRICS: readonly MetricDefinition<CertificateHolder>[] = [
  {
    name: 'tidemark_certificate_remaining_seconds',
    type: 'gauge',
    help: 'Time until the certificate of https ends; negative after it.',
    read: ({ certificate, now }) =>
      listSpans(certificate, ({ valid_until }) => valid_until.getTime() - now().getTime()),
  },
  {
    name: 'tidemark_certificate_lifetime_seconds',
    type: 'gauge',
    help: 'Time from the beginning of that certificate to its end.',
    read: ({ certificate }) =>
      listSpans(
        certificate,
        ({ valid_from, valid_until }) => valid_until.getTime() - valid_from.getTime(),
      ),
  },
  {
    name: 'tidemark_certificate_orders_total',
    type: 'counter',
    help: 'Certificates that the server ordered by itself since its start, by outcome.',
    read: ({ certificate }) => {
      const orders = certificate?.state().orders ?? null
      if (orders === null) return []
      return Object.entries(orders).map(([outcome, value]) => ({ labels: { outcome }, value }))
    },
  },
]

type ServedCertificate = { readonly valid_from: Date; readonly valid_until: Date }

function listSpans(
  source: CertificateHolder['certificate'],
  measureMs: (certificate: ServedCertificate) => number,
): ReturnType<MetricDefinition<CertificateHolder>['read']> {
  const served = source?.state().certificate ?? null
  return served === null ? [] : [{ labels: {}, value: measureMs(served) / 1000 }]
}
