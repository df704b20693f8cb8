#include "net/monitor/monitor.h"

bool monitor_is_healthy(const struct net_monitor *monitor)
{
  return monitor != NULL && crew_is_healthy(monitor->crew);
}

void monitor_write_metrics(const struct net_monitor *monitor, struct buffer *out)
{
  const struct rpc_service *service = crew_service(monitor->crew);
  struct metrics_figures figures;
  metrics_figures_init(&figures);
  for (size_t i = 0; i < METRICS_REFUSALS; i++)
    figures.refusals[i] = atomic_load_explicit(&monitor->refusals[i], memory_order_relaxed);
  for (size_t i = 0; i < METRICS_TRANSPORTS; i++)
    figures.connections[i] = atomic_load_explicit(&monitor->connections[i], memory_order_relaxed);
  figures.input = atomic_load_explicit(&monitor->input->total, memory_order_relaxed);
  figures.input_max = monitor->input->max;
  figures.shm = atomic_load_explicit(monitor->shm, memory_order_relaxed);
  figures.shm_max = monitor->shm_max;
  crew_collect(monitor->crew, &figures);
  metrics_read_process(&figures);
  if (service->collect != NULL)
    service->collect(service->context, &figures);
  metrics_write(&figures, out);
}
