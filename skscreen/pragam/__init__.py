"""Linear support vector machines by gap minimisation, and the algorithms it is compared with."""
