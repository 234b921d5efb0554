"""Train a GIN on BA-2motifs, explain ten graphs, draw them: python docs/examples/ba_2motifs.py [epochs] [picture]"""

import sys

import matplotlib.pyplot as plt
import torch
from torch_geometric.data import Batch
from torch_geometric.nn import GIN, global_mean_pool

import rsgg


class Classifier(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gin = GIN(in_channels=1, hidden_channels=32, num_layers=3, out_channels=2, norm="batch_norm")

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        return global_mean_pool(self.gin(x, edge_index), batch)


epochs, picture = [*sys.argv[1:], *("100", "ba_2motifs.png")[len(sys.argv) - 1 :]]
data = rsgg.Motifs(n_graphs=200).load()  # a random tree with a motif of five nodes: a cycle (class 0) or a house
graphs = [graph.to_pyg().update({"y": label}) for graph, label in zip(data.graphs, data.labels, strict=True)]

torch.manual_seed(0)
model, train, test = Classifier(), Batch.from_data_list(graphs[:150]), Batch.from_data_list(graphs[150:])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(int(epochs)):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(train.x, train.edge_index, train.batch), train.y).backward()
    optimizer.step()
right = model.eval()(test.x, test.edge_index, test.batch).argmax(1) == test.y
print(f"Accuracy on {len(right)} unseen graphs: {right.float().mean():.2f}")

figure, axes = plt.subplots(2, 5, figsize=(20, 8.5), layout="constrained")
results = rsgg.explain(model, graphs[150:160])
for result, ax in zip(results, axes.flat, strict=True):
    print(result.in_words())
    result.plot(ax)
figure.savefig(picture, dpi=80)
