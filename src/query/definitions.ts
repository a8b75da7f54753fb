/** The names that queries may use: those of events and of their properties; ingestion writes them down. */
export type {
  DetectedOwner,
  EventDefinition,
  PropertyDefinition,
} from '../storage/files/definition-reader.ts'
